import type { DomainError } from '../errors/domain-error.ts';

const MINUTE = 60_000;

/**
 * Lifetime of a counter: its minute, and a margin for clocks that differ (management 8.1). Seconds.
 */
export const COUNTER_SECONDS = 70;

/** Redis key of the counter of one key in the calendar minute of `now` (ms since the epoch). */
export function counterKey({ keyId, now }: { keyId: number; now: number }): string {
  return `budget:${keyId}:${Math.floor(now / MINUTE)}`;
}

/** Rejects when the units used in this minute, this request included, exceed the allowance. */
export function rejectOverBudget({
  used,
  allowance,
}: {
  used: number;
  allowance: number;
}): DomainError | undefined {
  return used > allowance ? { code: 'budget_exhausted' } : undefined;
}
