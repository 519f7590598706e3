/** What is asked of retention at a moment. Days are day numbers in Tehran. */
export interface RetentionClock {
  /** Today in Tehran, and how many ms of it have passed. */
  day: number;
  sinceMidnight: number;
  /** The last day that was enforced to its end. */
  lastDay: number | undefined;
  /** When a day's run begins, ms after midnight. */
  runAt: number;
}

/**
 * Whether a run is due: today's hour has come and today was not enforced; or a whole day was
 * missed, then at once.
 */
export function isDue({ day, sinceMidnight, lastDay, runAt }: RetentionClock): boolean {
  if (lastDay === undefined || lastDay < day - 1) return true;
  return lastDay < day && sinceMidnight >= runAt;
}

const DAY = 86_400_000;
/** TTL of `events` (DDL 0001). */
const TABLE_DAYS = 400;

/**
 * Events with a timestamp below this leave, ms since the epoch; undefined: the account keeps them
 * until the table drops them by itself (ingest 2.4 rule 5).
 */
export function leavesBelow(retentionDays: number, now: number): number | undefined {
  return retentionDays === 0 || retentionDays >= TABLE_DAYS ? undefined : now - retentionDays * DAY;
}
