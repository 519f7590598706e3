import { backoffDelay } from '../../../platform/backoff.ts';

/** Delays between attempts of one message, ms: 0.5 to 2.5 s first, up to 15 minutes. */
const BACKOFF = { base: 2000, cap: 15 * 60_000, min: 500 };
/** The longest Retry-After that is obeyed, ms. */
const MAX_AFTER_MS = 3_600_000;
/** Calls whose answers were lost, of an idempotent provider, before the outcome is unknown. */
export const MAX_LOST_ANSWERS = 8;

/**
 * When a message is tried again after `attempts` attempts; undefined: its run's deadline has passed
 * by then.
 * @param random a number in [0, 1)
 */
export function retryAt(of: {
  attempts: number;
  /** What the provider asked for. */
  afterMs: number | undefined;
  now: number;
  deadlineAt: number;
  random: number;
}): number | undefined {
  const { attempts, afterMs = 0, now, deadlineAt, random } = of;
  const pause = backoffDelay({ ...BACKOFF, attempt: Math.max(0, attempts - 1), random });
  const at = now + Math.max(pause, Math.min(afterMs, MAX_AFTER_MS));
  return at > deadlineAt ? undefined : at;
}
