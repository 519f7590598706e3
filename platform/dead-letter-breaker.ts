/** What was seen lately: events processed, and how many of them died. Older ones fade. */
export interface BreakerState {
  readonly processed: number;
  readonly dead: number;
}

export interface BreakerLimits {
  /**
   * So many must have died before anything is concluded from it: a few poison records go to
   * events.dead.
   */
  minDead: number;
  /**
   * The share of dead events above which the processor rather than the data is processed to be broken;
   * 1 or more: never.
   */
  maxDeadShare: number;
  /** Above this many events processed, both counts are halved. */
  windowEvents: number;
}

export type BreakerVerdict =
  | { readonly verdict: 'pass'; readonly state: BreakerState }
  | { readonly verdict: 'stop'; readonly share: number };

export const EMPTY_WINDOW: BreakerState = { processed: 0, dead: 0 };

/**
 * Decides whether the dead letters of a part of a batch may be written. 'stop' leaves the state as
 * it was: the same part is tried again later, and passes when others went well meanwhile. An event
 * that cannot be counted (a record that cannot be read) counts as one.
 */
export function judge(
  state: BreakerState,
  part: { processed: number; dead: number },
  limits: BreakerLimits,
): BreakerVerdict {
  const processed = state.processed + part.processed;
  const dead = state.dead + part.dead;
  const share = processed === 0 ? 0 : dead / processed;
  if (part.dead > 0 && dead >= limits.minDead && share > limits.maxDeadShare)
    return { verdict: 'stop', share };
  return {
    verdict: 'pass',
    state:
      processed > limits.windowEvents
        ? { processed: processed / 2, dead: dead / 2 }
        : { processed: processed, dead },
  };
}
