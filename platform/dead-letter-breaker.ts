/** Recently processed events, and how many of them are dead. Older ones lose weight. */
export interface BreakerState {
  readonly processed: number;
  readonly dead: number;
}

export interface BreakerLimits {
  /** The breaker ignores fewer dead events than this: a few poison records go to events.dead. */
  minDead: number;
  /** Above this share of dead events we assume faulty software; 1 or more: never opens. */
  maxDeadShare: number;
  /** Above this many processed events both counts are halved. */
  windowEvents: number;
}

export type BreakerVerdict =
  | { readonly verdict: 'pass'; readonly state: BreakerState }
  | { readonly verdict: 'stop'; readonly share: number };

export const EMPTY_WINDOW: BreakerState = { processed: 0, dead: 0 };

/**
 * Decides whether the dead letters of a chunk may be written. 'stop' keeps the state: the same
 * chunk is retried later, and passes once enough other events were processed successfully. A record
 * without a known number of events counts as one.
 */
export function judge(
  state: BreakerState,
  chunk: { processed: number; dead: number },
  limits: BreakerLimits,
): BreakerVerdict {
  const processed = state.processed + chunk.processed;
  const dead = state.dead + chunk.dead;
  const share = processed === 0 ? 0 : dead / processed;
  if (chunk.dead > 0 && dead >= limits.minDead && share > limits.maxDeadShare)
    return { verdict: 'stop', share };
  return {
    verdict: 'pass',
    state:
      processed > limits.windowEvents
        ? { processed: processed / 2, dead: dead / 2 }
        : { processed: processed, dead },
  };
}
