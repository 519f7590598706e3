/** What is known of one endpoint. */
export interface BreakerState {
  /** Attempts that failed one after the other and are worth another try. */
  readonly failures: number;
  /** How often it opened without a success since. */
  readonly opened: number;
  /** No attempt before this time, ms. */
  readonly until: number;
  /** Since when there was no success, ms; undefined while there is no failure. */
  readonly failingSince: number | undefined;
}

export type BreakerPhase = 'closed' | 'open' | 'half_open';

export const CLOSED: BreakerState = { failures: 0, opened: 0, until: 0, failingSince: undefined };

/** So many failures in a row open it. */
export const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 60_000;

/** closed: attempts as usual; open: none; half_open: one, to see whether the endpoint is back. */
export function phaseOf(state: BreakerState, now: number): BreakerPhase {
  if (state.failures < FAILURES_TO_OPEN) return 'closed';
  return now < state.until ? 'open' : 'half_open';
}

/**
 * The state after an attempt. An endpoint that answers, with whatever is final, is alive and closes
 * the breaker; a failure that is worth another try counts. Attempts that began before it opened do
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
    Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(state.opened, 10)) *
    (0.75 + attempt.random / 4);
  return { failures, opened: state.opened + 1, until: attempt.now + pause, failingSince };
}
