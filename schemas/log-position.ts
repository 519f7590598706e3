/**
 * How far a partition has been taken: the place of a row without its partition (DESIGN.md,
 * "Identity of an event").
 */
export interface Mark {
  epoch: number;
  offset: number;
  index: number;
}

/** Before the first row of a partition. */
export const NOTHING: Mark = { epoch: -1, offset: -1, index: -1 };

/** Negative when `a` comes before `b`, 0 when they are the same place. */
export function compareMarks(a: Mark, b: Mark): number {
  return a.epoch - b.epoch || a.offset - b.offset || a.index - b.index;
}

/** The mark as a key of maps and sets. */
export function markKey({ epoch, offset, index }: Mark): string {
  return `${epoch}:${offset}:${index}`;
}
