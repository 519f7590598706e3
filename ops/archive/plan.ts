import { epochAt, type EpochStart } from '../../platform/log/epochs.ts';
import type { ArchivedObject } from './object-names.ts';

type Span = Pick<ArchivedObject, 'first' | 'last'>;

/** The offset up to which objects follow each other from `next` on; repeats and overlaps count. */
export function contiguousEnd(objects: readonly Span[], next: number): number {
  let end = next;
  for (const { first, last } of objects.toSorted((a, b) => a.first - b.first))
    if (first <= end) end = Math.max(end, last + 1);
  return end;
}

/** From `next` to `end`, the parts that lie in one epoch each, in order. */
export function epochParts(
  starts: readonly EpochStart[],
  { next, end }: { next: number; end: number },
): { epoch: number; from: number; to: number }[] {
  const cuts = starts.map(({ firstOffset }) => firstOffset).filter((at) => at > next && at < end);
  const edges = [...new Set([next, ...cuts, end])].sort((a, b) => a - b);
  return edges
    .slice(0, -1)
    .map((from, at) => ({ epoch: epochAt(starts, from), from, to: edges[at + 1] ?? end }));
}

/** Offsets `from` (included) to `to` (not included) of one object. */
export interface Piece {
  name: string;
  from: number;
  to: number;
}

/** What a partition is made of again. */
export interface RestorePlan {
  /** Consecutive, without repeats. */
  pieces: Piece[];
  /** The first offset of the pieces; the log begins there. */
  low: number;
  /** The offset after the last record. */
  high: number;
  /** Offsets that no object holds, between others that one holds. */
  gaps: { from: number; to: number }[];
}

/**
 * The records of the newest epoch at each offset. An epoch replaces the records from its first
 * object on; a later one may begin before an earlier one.
 */
export function planRestore(objects: readonly ArchivedObject[]): RestorePlan {
  const byEpoch = [...Map.groupBy(objects, ({ epoch }) => epoch)].sort(([a], [b]) => a - b);
  const firstOf = byEpoch.map(([, own]) => Math.min(...own.map(({ first }) => first)));
  const pieces: Piece[] = [];
  const gaps: RestorePlan['gaps'] = [];
  let next: number | undefined;
  for (const [at, [, own]] of byEpoch.entries()) {
    const until = Math.min(...firstOf.slice(at + 1), Number.POSITIVE_INFINITY);
    for (const { name, first, last } of own.toSorted((a, b) => a.first - b.first)) {
      const from = Math.max(first, next ?? first);
      const to = Math.min(last + 1, until);
      if (to <= from) continue;
      if (next !== undefined && from > next) gaps.push({ from: next, to: from });
      pieces.push({ name, from, to });
      next = to;
    }
  }
  return { pieces, gaps, low: pieces[0]?.from ?? 0, high: next ?? 0 };
}
