import type { Log } from '../log.ts';
import { withDeadline } from '../deadline.ts';
import { freshUntil, type Snapshot } from './decide.ts';
import { groupsOf, type Projection } from './projections.ts';

const SNAPSHOT_AGE_MS = 1000;
/** How long a request waits for a snapshot, ms. */
const WAIT_MS = 3000;

export interface Freshness {
  /**
   * The latest T such that every event appended to events.raw before T is a dead letter or in all
   * of these projections, and so is every command of channels before T where one is made of them;
   * ms since the epoch. Rejects when no snapshot was ever fetched.
   */
  freshUntil(projections: readonly Projection[]): Promise<number>;
}

interface FreshnessOptions {
  fetchSnapshot: () => Promise<Snapshot>;
  now: () => number;
  log: Log;
  /**
   * Maximum age of a snapshot, ms; a second by default. An older one is still correct, only less
   * fresh.
   */
  maxAgeMs?: number;
}

/**
 * Fetches a snapshot on demand, when the last one is too old, and one at a time. While Kafka is
 * unavailable the last snapshot is used: what was stored remains stored. That is logged when it
 * begins and when it ends, however many ask.
 */
export function createFreshness({
  fetchSnapshot: look,
  now,
  log,
  maxAgeMs = SNAPSHOT_AGE_MS,
}: FreshnessOptions): Freshness {
  let last: { snapshot: Snapshot; at: number } | undefined;
  let refreshing: Promise<Snapshot> | undefined;
  /** The last snapshot failed, or took longer than a request waits. */
  let isUnknown = false;

  const refresh = async (): Promise<Snapshot> => {
    const beganAt = now();
    const snapshot = await look();
    last = { snapshot, at: now() };
    if (isUnknown && now() - beganAt < WAIT_MS) {
      isUnknown = false;
      log.info({ code: 'freshness_known' }, 'the progress of the log can be read again');
    }
    return snapshot;
  };

  return {
    async freshUntil(projections) {
      const groups = groupsOf(projections);
      if (last && now() - last.at < maxAgeMs) return freshUntil(last.snapshot, groups);
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      try {
        return freshUntil(
          await withDeadline({ ms: WAIT_MS, waitingFor: 'the freshness of the log' }, refreshing),
          groups,
        );
      } catch (error) {
        if (!isUnknown)
          log.warn(
            { err: error, code: 'freshness_unknown' },
            'the progress of the log cannot be read; the last known freshness is used until it can',
          );
        isUnknown = true;
        if (!last) throw error;
        return freshUntil(last.snapshot, groups);
      }
    },
  };
}
