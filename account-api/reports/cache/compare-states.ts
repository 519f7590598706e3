import type { DataState } from './data-state.ts';

/** Rows that a report reads, by part, as far as they were counted. */
export type PartCounts = ReadonlyMap<string, number>;

export type Change =
  | { kind: 'none' }
  /** Another table, other people, or rows were deleted. */
  | { kind: 'data' }
  /** Only the set of parts of `events`: by merges, or by inserts of rows of whomever. */
  | { kind: 'parts'; gone: readonly string[]; added: readonly string[] };

/** What has changed between an earlier state and a later one. */
export function changeBetween(earlier: DataState, later: DataState): Change {
  if (
    earlier.tables !== later.tables ||
    earlier.identities !== later.identities ||
    earlier.profiles !== later.profiles ||
    earlier.mutation !== later.mutation
  )
    return { kind: 'data' };
  const [before, after] = [new Set(earlier.parts), new Set(later.parts)];
  const gone = earlier.parts.filter((part) => !after.has(part));
  const added = later.parts.filter((part) => !before.has(part));
  return gone.length + added.length === 0 ? { kind: 'none' } : { kind: 'parts', gone, added };
}

/**
 * Whether the added parts hold exactly the rows of the report that the gone ones held. Without a
 * mutation no row leaves the table, except those that are past their 400 days, which no report
 * reads: merges pass on all rows, inserts add some. So the same number means the same rows.
 */
export function holdSameRows(
  { gone, added }: { gone: readonly string[]; added: readonly string[] },
  counts: PartCounts,
): boolean {
  const sum = (parts: readonly string[]): number | undefined =>
    parts.reduce<number | undefined>((total, part) => {
      const rows = counts.get(part);
      return total === undefined || rows === undefined ? undefined : total + rows;
    }, 0);
  const [before, after] = [sum(gone), sum(added)];
  return before !== undefined && before === after;
}

/** The parts of the months in which some part is gone or added. */
export function partsOfChangedMonths(
  parts: readonly string[],
  { gone, added }: { gone: readonly string[]; added: readonly string[] },
): string[] {
  const months = new Set([...gone, ...added].map(monthOf));
  return parts.filter((part) => months.has(monthOf(part)));
}

/** `202611` of `202611_1_7_2`. */
function monthOf(part: string): string {
  return part.slice(0, part.indexOf('_'));
}
