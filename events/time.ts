const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A timestamp further ahead of the server's clock than this is clamped (ingest 2.4 rule 2). */
export const MAX_AHEAD_MS = HOUR;
/**
 * sent_at further from the server's clock than this tells that the client's clock is wrong (rule
 * 3).
 */
export const MAX_SKEW_MS = MINUTE;
/** The ingest window when retention cannot be read, and its floor (rule 3). */
export const MIN_WINDOW_MS = 30 * DAY;
/** The ingest window of an account that keeps its events for ever (rule 3). */
export const FOREVER_WINDOW_MS = 3650 * DAY;

/**
 * The ingest window of a retention in days; 0 keeps for ever, undefined is a retention that could
 * not be read (ingest 2.4 rule 3). Milliseconds.
 */
export function ingestWindow(retentionDays: number | undefined): number {
  if (retentionDays === undefined) return MIN_WINDOW_MS;
  return retentionDays === 0 ? FOREVER_WINDOW_MS : Math.max(retentionDays * DAY, MIN_WINDOW_MS);
}

export interface TimeInput {
  /** What the client sent, in milliseconds since the epoch; undefined when it sent none. */
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
 * The time that an event is stored under (ingest 2.4 rules 1 to 3).
 * A corrected time is used when it would need no clamp itself: not before the window, and not more
 * than an hour ahead.
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
 * The time of an event on a back-fill path (ingest 2.4 rule 4): as decideTime, but undefined
 * (reject with timestamp_too_old) where that would clamp or make one up.
 */
export function decideBackfillTime(input: TimeInput): number | undefined {
  if (input.timestamp === undefined) return undefined;
  const decided = decideTime(input);
  return decided.warning === undefined ? decided.timestamp : undefined;
}
