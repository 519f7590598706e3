import { DeferredUpdates } from '../webhooks/deferred-updates.ts';
import type { Clicks, LinkStore } from './link-store.ts';

const MAX_CODES = 100_000;
const LINGER_MS = 250;

/** Clicks of short links, written after the answers: a count and a time (ingest 4.7). */
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
