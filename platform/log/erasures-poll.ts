import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import { retryUntilAborted } from '../retry-until-aborted.ts';
import { erasuresAbsentSince } from './recent-layout.ts';

/** A live consumer notices an enforced erasure within about one and a half of this time, ms. */
export const ERASURES_POLL_MS = 4000;
/** So long after the next look at the layout (topic-names.ts) its answer is there, ms. */
const LOOK_MS = 500;

export interface PollOptions {
  log: Log;
  signal: AbortSignal;
}

/** Resolves when `load` has. Rejects when the signal aborts. */
export function loadErasures(
  { log, signal }: PollOptions,
  load: () => Promise<void>,
): Promise<void> {
  const what = 'reading which people were erased';
  return retryUntilAborted({ log, signal, code: 'postgres_unreachable', what }, load);
}

/**
 * Loads them again and again until the signal aborts, but not while the look at the layout finds
 * none, and none is known (`isEmpty`). Never rejects.
 */
export async function pollErasures(
  { log, signal, isEmpty }: PollOptions & { isEmpty: () => boolean },
  load: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const absent = erasuresAbsentSince();
    const afterLook = Number.isFinite(absent) ? LOOK_MS - (absent % ERASURES_POLL_MS) : 0;
    try {
      await delay(ERASURES_POLL_MS + afterLook, signal);
    } catch {
      return;
    }
    if (isEmpty() && erasuresAbsentSince() < ERASURES_POLL_MS / 2) continue;
    try {
      await load();
    } catch (error) {
      log.debug({ err: error }, 'cannot read which people were erased; retrying');
    }
  }
}
