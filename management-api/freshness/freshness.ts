import type { Log } from '../../platform/log.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { freshUntil, type Snapshot } from './decide.ts';
import { GROUP_OF, NORMALISER_GROUP, type Projection } from './projections.ts';

/** A look at the log may be this old, ms. An older look is still true, only less fresh. */
const LOOK_MS = 1000;
/** How long a request waits for a look, ms. */
const WAIT_MS = 3000;

export interface Freshness {
  /**
   * The latest T such that everything appended to events.raw before T is dead, or in all of these
   * projections; ms since the epoch. Rejects while nothing is known at all.
   */
  freshUntil(projections: readonly Projection[]): Promise<number>;
}

interface FreshnessOptions {
  /** Looks at the log now. */
  look: () => Promise<Snapshot>;
  now: () => number;
  log: Log;
}

/**
 * Looks on demand, at most once a second and once at a time; while the log is away the last look
 * stands, for what was stored stays stored.
 */
export function createFreshness({ look, now, log }: FreshnessOptions): Freshness {
  let last: { snapshot: Snapshot; at: number } | undefined;
  let looking: Promise<Snapshot> | undefined;

  const refresh = async (): Promise<Snapshot> => {
    const snapshot = await look();
    last = { snapshot, at: now() };
    return snapshot;
  };

  return {
    async freshUntil(projections) {
      const groups = [NORMALISER_GROUP, ...projections.map((projection) => GROUP_OF[projection])];
      if (last && now() - last.at < LOOK_MS) return freshUntil(last.snapshot, groups);
      looking ??= refresh().finally(() => {
        looking = undefined;
      });
      try {
        return freshUntil(
          await withDeadline({ ms: WAIT_MS, waitingFor: 'the freshness of the log' }, looking),
          groups,
        );
      } catch (error) {
        log.warn(
          { err: error, code: 'freshness_unknown' },
          'the log cannot be looked at; the last known freshness stands',
        );
        if (!last) throw error;
        return freshUntil(last.snapshot, groups);
      }
    },
  };
}
