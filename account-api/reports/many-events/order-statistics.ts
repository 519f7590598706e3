/** Values are counted in this many ranges at once, which are as wide. */
export const RANGES = 2 ** 16;
const RANGE_BITS = Math.log2(RANGES);

/** Those values are asked for of which these are the ranks (0-based, ascending). */
export interface Ranks {
  ranks: readonly number[];
  /** No value is greater. */
  max: number;
}

/** How many values lie in each of RANGES ranges of 2^shift whole numbers, from `low` on. */
export type CountRanges = (ranges: { low: number; shift: number }) => Uint32Array;

/**
 * The values of ranks among whole numbers from 0 on, without sorting them: a histogram says in
 * which range each rank lies, and another one of that range alone says where in it, until ranges
 * are single numbers.
 */
export function valuesOfRanks({ ranks, max }: Ranks, countRanges: CountRanges): number[] {
  const found = new Map<number, number>();
  let shift = 0;
  while (RANGES * 2 ** shift <= max) shift++;
  narrow({ low: 0, shift, ranks: [...new Set(ranks)], before: 0, found, countRanges });
  return ranks.map((rank) => found.get(rank) ?? NaN);
}

interface Ranges {
  low: number;
  shift: number;
  /** Ranks of which the values lie in the ranges. */
  ranks: readonly number[];
  /** Values below the ranges. */
  before: number;
  found: Map<number, number>;
  countRanges: CountRanges;
}

function narrow({ low, shift, ranks, before, found, countRanges }: Ranges): void {
  const counts = countRanges({ low, shift });
  let below = before;
  for (let range = 0, left = ranks; range < RANGES && left.length > 0; range++) {
    const end = below + (counts[range] ?? 0);
    const here = left.filter((rank) => rank < end);
    const from = low + range * 2 ** shift;
    if (here.length > 0 && shift === 0) for (const rank of here) found.set(rank, from);
    else if (here.length > 0) {
      const finer = Math.max(0, shift - RANGE_BITS);
      narrow({ low: from, shift: finer, ranks: here, before: below, found, countRanges });
    }
    if (here.length > 0) left = left.filter((rank) => rank >= end);
    below = end;
  }
}
