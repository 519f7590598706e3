/** Circuit breaker of one endpoint, or of one sender of messages. */
export interface BreakerState {
  /** Consecutive failures that are worth another attempt. */
  readonly failures: number;
  /** How often it opened since the last success. */
  readonly opened: number;
  /** No attempt before this time, ms. */
  readonly until: number;
  /** Time of the first failure since the last success, ms; undefined without a failure. */
  readonly failingSince: number | undefined;
}

export type BreakerPhase = 'closed' | 'open' | 'half_open';

export const CLOSED: BreakerState = { failures: 0, opened: 0, until: 0, failingSince: undefined };

/** Consecutive failures that open it. */
export const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 5000;
const MAX_PAUSE_MS = 60_000;

/** closed: attempts as usual; open: none; half_open: one, to probe the endpoint. */
export function phaseOf(state: BreakerState, now: number): BreakerPhase {
  if (state.failures < FAILURES_TO_OPEN) return 'closed';
  return now < state.until ? 'open' : 'half_open';
}

/**
 * The state after an attempt. An endpoint with a final answer, good or bad, is alive and closes the
 * breaker; a failure that is worth another attempt counts. Attempts that began before it opened do
 * not open it again. `random` in [0, 1) spreads the pause.
 */
export function afterAttempt(
  state: BreakerState,
  attempt: { isAlive: boolean; now: number; random: number },
): BreakerState {
  if (attempt.isAlive) return CLOSED;
  const failures = state.failures + 1;
  const failingSince = state.failingSince ?? attempt.now;
  if (failures < FAILURES_TO_OPEN || attempt.now < state.until)
    return { ...state, failures, failingSince };
  const pause =
    Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(state.opened, 10)) *
    (0.75 + attempt.random / 4);
  return { failures, opened: state.opened + 1, until: attempt.now + pause, failingSince };
}
