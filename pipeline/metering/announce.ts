/** Percentages of the included allowance that are announced, highest first (ingest 8). */
export const ANNOUNCED_PERCENTS = [300, 150, 125, 100, 80] as const;

/**
 * The percentages that a meter has reached; none for an allowance of zero, which cannot be used up.
 */
export function reachedPercents(value: number, allowance: number): number[] {
  if (allowance <= 0) return [];
  return ANNOUNCED_PERCENTS.filter(
    (percent) => BigInt(value) * 100n >= BigInt(allowance) * BigInt(percent),
  );
}
