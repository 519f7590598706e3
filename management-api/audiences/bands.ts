import type { BandName } from './attributes.ts';

const DAY = 86_400_000;

/** First seen less than this ago: new. */
export const NEW_MS = 7 * DAY;
/** Otherwise last seen less than this ago: active. */
export const ACTIVE_MS = 14 * DAY;
/** Otherwise last seen less than this ago: slipping. Later: dormant. */
export const SLIPPING_MS = 60 * DAY;

/** The band of a person; times in ms since the epoch. */
export function bandOf({
  firstSeen,
  lastSeen,
  now,
}: {
  firstSeen: number;
  lastSeen: number;
  now: number;
}): BandName {
  if (firstSeen > now - NEW_MS) return 'new';
  if (lastSeen > now - ACTIVE_MS) return 'active';
  return lastSeen > now - SLIPPING_MS ? 'slipping' : 'dormant';
}
