/** Claim times are milliseconds since 2020-01-01T00:00Z in 40 bits, enough until November 2054. */
export const CLAIM_TIME_ORIGIN = Date.UTC(2020, 0, 1);

export const CLAIM_TIME_BYTES = 5;
export const LAST_CLAIM_TIME = 2 ** 40 - 1;

/** Clamps instead of throwing: a clock that is years off must not block a partition. */
export function toClaimTime(unixMs: number): number {
  return Math.min(Math.max(Math.trunc(unixMs) - CLAIM_TIME_ORIGIN, 0), LAST_CLAIM_TIME);
}

export function fromClaimTime(claimTime: number): number {
  return claimTime + CLAIM_TIME_ORIGIN;
}
