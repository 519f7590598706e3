import { DeferredUpdates } from '../webhooks/deferred-updates.ts';
import type { Clicks, LinkStore } from './link-store.ts';

const MAX_CODES = 100_000;
const LINGER_MS = 250;

/**
 * Clicks of short links, gathered and written behind the answers: a counter and the last time,
 * nothing about the visitor (ingest 4.7).
 */
export function clickCounter(options: {
  store: Pick<LinkStore, 'addClicks'>;
  onFailed: (error: unknown) => void;
}): DeferredUpdates<string, Clicks> {
  const { store, onFailed } = options;
  return new DeferredUpdates({
    write: (clicks) => store.addClicks(clicks),
    merge: (before, after) => ({
      count: before.count + after.count,
      lastAt: Math.max(before.lastAt, after.lastAt),
    }),
    capacity: MAX_CODES,
    linger: LINGER_MS,
    random: Math.random,
    onFailed,
  });
}
