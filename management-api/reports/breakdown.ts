import type { Target } from '../conditions/condition.ts';
import { EVENT_FIELDS } from '../conditions/event-fields.ts';
import { readTarget } from './filter-request.ts';
import { reject } from './report-problem.ts';
import { readObject, readWhole } from './request-reader.ts';

const MAX_VALUES = 100;
const DEFAULT_VALUES = 25;

/** Splits a report by a value (reports.md, "Breakdown"). */
export interface Breakdown {
  target: Target;
  /** 1-based step of the counted chain whose event carries the value; 1 in retention. */
  step: number;
  /** Values listed by themselves; the others count together. */
  limit: number;
}

export function readBreakdown(value: unknown, steps: number): Breakdown | undefined {
  if (value === undefined || value === null) return undefined;
  const fields = readObject(value, 'breakdown');
  const target = readTarget(fields, { path: 'breakdown', problem: 'option' });
  // a revenue has no text to list it under
  if (target.kind === 'field' && EVENT_FIELDS[target.name] === 'number')
    return reject('option', 'breakdown.field');
  const step = readWhole(fields['step'], 'breakdown.step') ?? 1;
  if (step < 1 || step > steps) return reject('option', 'breakdown.step');
  const limit = readWhole(fields['limit'], 'breakdown.limit') ?? DEFAULT_VALUES;
  if (limit < 1 || limit > MAX_VALUES) return reject('option', 'breakdown.limit');
  return { target, step, limit };
}
