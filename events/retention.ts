const DAY = 86_400_000;

/** No event is kept longer than this after its own timestamp (ingest 2.4), days. */
export const MAX_RETENTION_DAYS = 400;

/** Retention per account in days; 0, or an absent account, means MAX_RETENTION_DAYS. */
export type Retentions = ReadonlyMap<number, number>;

/** Events of the account with a timestamp below this are not kept, ms since the epoch. */
export function keptFrom(retentions: Retentions, accountId: number, now: number): number {
  const days = retentions.get(accountId) ?? 0;
  return now - Math.min(days === 0 ? MAX_RETENTION_DAYS : days, MAX_RETENTION_DAYS) * DAY;
}
