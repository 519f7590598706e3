import type { DomainError } from '../../account-api/errors/domain-error.ts';

const MINUTE = 60_000;

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
