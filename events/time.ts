const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Timestamps further ahead of the server's clock are clamped (ingest 2.4 rule 2). */
export const MAX_AHEAD_MS = HOUR;
/** A larger difference of sent_at to our clock means a wrong client clock (ingest 2.4 rule 3). */
export const MAX_SKEW_MS = MINUTE;
/** The ingest window when the retention is unknown, and its minimum (ingest 2.4 rule 3). */
export const MIN_WINDOW_MS = 30 * DAY;
/** The ingest window of an account that keeps events for ever (ingest 2.4 rule 3). */
export const FOREVER_WINDOW_MS = 3650 * DAY;

/**
 * The ingest window of a retention in days, in milliseconds. 0: for ever; undefined: the retention
 * could not be read (ingest 2.4 rule 3).
 */
export function ingestWindow(retentionDays: number | undefined): number {
  if (retentionDays === undefined) return MIN_WINDOW_MS;
  return retentionDays === 0 ? FOREVER_WINDOW_MS : Math.max(retentionDays * DAY, MIN_WINDOW_MS);
}

export interface TimeInput {
  /** What the client sent, in milliseconds since the epoch; undefined when absent. */
  timestamp: number | undefined;
  sentAt: number | undefined;
  /** Receive time, milliseconds since the epoch. */
  now: number;
  windowMs: number;
}

export interface DecidedTime {
  timestamp: number;
  warning: 'timestamp_in_future' | 'timestamp_too_old' | undefined;
}

/**
 * The stored time of an event (ingest 2.4 rules 1 to 3). The clock correction applies only if the
 * corrected time needs no clamp itself: within the window and at most an hour ahead.
 */
export function decideTime({ timestamp, sentAt, now, windowMs }: TimeInput): DecidedTime {
  if (timestamp === undefined) return { timestamp: now, warning: undefined };
  if (timestamp > now + MAX_AHEAD_MS) return { timestamp: now, warning: 'timestamp_in_future' };
  const edge = now - windowMs;
  if (timestamp < edge) return { timestamp: edge, warning: 'timestamp_too_old' };
  if (sentAt === undefined || Math.abs(now - sentAt) <= MAX_SKEW_MS)
    return { timestamp, warning: undefined };
  const corrected = timestamp + (now - sentAt);
  const usable = corrected >= edge && corrected <= now + MAX_AHEAD_MS;
  return { timestamp: usable ? corrected : timestamp, warning: undefined };
}

/**
 * The stored time of an event on a backfill path (ingest 2.4 rule 4): as decideTime, but undefined
 * (reject with timestamp_too_old) where decideTime would clamp or invent a time.
 */
export function decideBackfillTime(input: TimeInput): number | undefined {
  if (input.timestamp === undefined) return undefined;
  const decided = decideTime(input);
  return decided.warning === undefined ? decided.timestamp : undefined;
}
