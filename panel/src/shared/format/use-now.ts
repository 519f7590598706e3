import { useState } from 'react';
import { tehranDay } from '../../../../events/tehran-time.ts';

/** The time when the component was first rendered, ms since the epoch. */
export function useNow(): number {
  return useState(() => Date.now())[0];
}

/** The day in Tehran when the component was first rendered. */
export function useToday(): number {
  return tehranDay(useNow());
}
