const BUCKETS = 65_536;

/**
 * The values of these ranks (0-based, ascending) among whole numbers from 0 to `max`, without
 * sorting them: a histogram says in which bucket each rank lies, and another one of that bucket
 * alone says where in it, until buckets are single numbers.
 */
export function valuesOfRanks({
  lists,
  ranks,
  max,
}: {
  lists: readonly (Uint32Array | Float64Array)[];
  ranks: readonly number[];
  max: number;
}): number[] {
  const found = new Map<number, number>();
  narrow({ lists, low: 0, size: max + 1, ranks: [...new Set(ranks)], before: 0, found });
  return ranks.map((rank) => found.get(rank) ?? NaN);
}

interface Range {
  lists: readonly (Uint32Array | Float64Array)[];
  /** Values from `low` on, this many. */
  low: number;
  size: number;
  /** Ranks of which the values lie in the range. */
  ranks: readonly number[];
  /** Values below the range. */
  before: number;
  found: Map<number, number>;
}

function narrow({ lists, low, size, ranks, before, found }: Range): void {
  const width = Math.ceil(size / BUCKETS);
  const counts = new Float64Array(Math.ceil(size / width));
  for (const list of lists) countInto(counts, { list, low, width });
  let below = before;
  for (let bucket = 0, left = ranks; bucket < counts.length && left.length > 0; bucket++) {
    const end = below + (counts[bucket] ?? 0);
    const here = left.filter((rank) => rank < end);
    const from = low + bucket * width;
    if (here.length > 0 && width === 1) for (const rank of here) found.set(rank, from);
    else if (here.length > 0)
      narrow({ lists, low: from, size: width, ranks: here, before: below, found });
    if (here.length > 0) left = left.filter((rank) => rank >= end);
    below = end;
  }
}

function countInto(
  counts: Float64Array,
  { list, low, width }: { list: Uint32Array | Float64Array; low: number; width: number },
): void {
  const end = low + counts.length * width;
  for (let at = 0; at < list.length; at++) {
    const value = list[at] ?? 0;
    if (value < low || value >= end) continue;
    const bucket = Math.floor((value - low) / width);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
}
