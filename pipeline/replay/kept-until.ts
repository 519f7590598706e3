const DAY = 86_400_000;

/** No event is kept longer than this after its own timestamp (ingest 2.4), days. */
export const MOST_DAYS = 400;

/**
 * Retention of each account in days; 0 keeps for ever, which is MOST_DAYS. An account that is
 * unknown keeps MOST_DAYS.
 */
export type Retentions = ReadonlyMap<number, number>;

/** Events of the account with a timestamp below this are not kept, ms since the epoch. */
export function keptFrom(retentions: Retentions, accountId: number, now: number): number {
  const days = retentions.get(accountId) ?? 0;
  return now - Math.min(days === 0 ? MOST_DAYS : days, MOST_DAYS) * DAY;
}
