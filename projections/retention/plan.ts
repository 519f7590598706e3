import { MAX_RETENTION_DAYS } from '../../events/retention.ts';

/** The time and the last run, which decide whether a run is due. Days are day numbers in Tehran. */
export interface RetentionClock {
  /** Today in Tehran, and the ms since its midnight. */
  day: number;
  sinceMidnight: number;
  /** The day of the last completed run. */
  lastDay: number | undefined;
  /** When the run of a day starts, ms after midnight. */
  runAt: number;
}

/**
 * A run is due from `runAt` on if today has no completed run yet, and at any time if a whole day
 * was missed.
 */
export function isDue({ day, sinceMidnight, lastDay, runAt }: RetentionClock): boolean {
  if (lastDay === undefined || lastDay < day - 1) return true;
  return lastDay < day && sinceMidnight >= runAt;
}

const DAY = 86_400_000;

/**
 * Events with a timestamp below this are deleted, ms since the epoch; undefined when the TTL of the
 * table deletes the events of the account (ingest 2.4, rule 5).
 */
export function expiresBelow(retentionDays: number, now: number): number | undefined {
  return retentionDays === 0 || retentionDays >= MAX_RETENTION_DAYS
    ? undefined
    : now - retentionDays * DAY;
}
