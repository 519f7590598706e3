import type { Place } from '../../schemas/records.ts';

/** How far a partition is worked through: a place without its partition. */
export type Mark = Omit<Place, 'partition'>;

/** Before the first event of a partition. */
export const NOTHING: Mark = { epoch: -1, offset: -1, index: -1 };

/** Negative when `a` comes before `b`, 0 when they are the same. */
export function compareMarks(a: Mark, b: Mark): number {
  return a.epoch - b.epoch || a.offset - b.offset || a.index - b.index;
}
