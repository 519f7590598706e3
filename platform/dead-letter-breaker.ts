/** What was seen lately: events taken, and how many of them died. Older ones fade. */
export interface BreakerState {
  readonly taken: number;
  readonly dead: number;
}

export interface BreakerLimits {
  /**
   * So many must have died before anything is concluded from it: a few poison records go to
   * events.dead.
   */
  least: number;
  /**
   * The share of dead events above which the processor rather than the data is taken to be broken;
   * 1 or more: never.
   */
  share: number;
  /** Above this many events taken, both counts are halved. */
  memory: number;
}

export type BreakerVerdict =
  | { readonly verdict: 'pass'; readonly state: BreakerState }
  | { readonly verdict: 'stop'; readonly share: number };

export const EMPTY_WINDOW: BreakerState = { taken: 0, dead: 0 };

/**
 * Decides whether the dead letters of a part of a batch may be written. 'stop' leaves the state as
 * it was: the same part is tried again later, and passes when others went well meanwhile. An event
 * that cannot be counted (a record that cannot be read) counts as one.
 */
export function judge(
  state: BreakerState,
  part: { taken: number; dead: number },
  limits: BreakerLimits,
): BreakerVerdict {
  const taken = state.taken + part.taken;
  const dead = state.dead + part.dead;
  const share = taken === 0 ? 0 : dead / taken;
  if (part.dead > 0 && dead >= limits.least && share > limits.share)
    return { verdict: 'stop', share };
  return {
    verdict: 'pass',
    state: taken > limits.memory ? { taken: taken / 2, dead: dead / 2 } : { taken, dead },
  };
}
