/** A place within one partition of the raw log and one epoch. */
export interface Position {
  offset: number;
  index: number;
}

/** Before the first place. */
export const BEGINNING: Position = { offset: -1, index: -1 };

/** Behind every item of a record: more than a request may hold. */
export const LAST_INDEX = 0xffff;

/** Negative when `a` comes before `b`. */
export function comparePositions(a: Position, b: Position): number {
  return a.offset - b.offset || a.index - b.index;
}

/** A position as a key of maps and sets. */
export function positionKey({ offset, index }: Position): string {
  return `${offset}/${index}`;
}
