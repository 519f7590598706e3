/** Between which values a quantile lies. */
export interface QuantilePlace {
  /** Rank of the lower one, 0-based; the other one is the next, where there is one. */
  below: number;
  /** How far it is from the lower one to the other, 0 to 1. */
  part: number;
}

/** As ClickHouse's quantileExactInclusive computes it, in the same order of operations. */
export function quantilePlace(level: number, values: number): QuantilePlace {
  const rank = level * (values - 1) + 1;
  const below = Math.floor(rank);
  return { below: below - 1, part: rank - below };
}
