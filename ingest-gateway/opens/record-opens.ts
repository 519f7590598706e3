import type { Log } from '../../platform/log.ts';
import type { RecordOpen } from '../pages/open-pixel.ts';
import { DeferredUpdates } from '../webhooks/deferred-updates.ts';
import { keyOf, mergeOpens, writeOpens, type OpenPorts, type PendingOpen } from './write-opens.ts';

/** Messages whose opens wait to be written. */
const MAX_WAITING = { total: 100_000, perAccount: 25_000 };
/** Gathers the many opens of a campaign, and those of a proxy and of a person at the same time. */
const LINGER_MS = 250;

export interface OpenCounts {
  /** Messages whose opens are not written yet. */
  readonly waiting: number;
  /** Opens for which there was no room. */
  readonly dropped: number;
}

/**
 * Records opens after their answers: an event for the first open of a message. Opens that wait when
 * the process is killed are lost, as if the mail program had loaded no image; `close` writes them.
 */
export function recordOpens({ log, ...ports }: OpenPorts & { log: Log }): {
  recordOpen: RecordOpen;
  counts: OpenCounts;
  close: (ms: number) => Promise<void>;
} {
  let dropped = 0;
  const opens = new DeferredUpdates<string, PendingOpen>({
    write: (batch) => writeOpens([...batch.values()], ports),
    merge: mergeOpens,
    capacity: MAX_WAITING.total,
    share: { ownerOf: ({ accountId }) => accountId, max: MAX_WAITING.perAccount },
    linger: LINGER_MS,
    random: Math.random,
    onFailed: (error) =>
      log.warn(
        { err: error, code: 'opens_unwritten' },
        'opens of messages cannot be written; the gateway retries',
      ),
    onDropped(count) {
      dropped += count;
      log.warn({ count, code: 'opens_dropped' }, 'too many opens wait to be written');
    },
  });
  return {
    counts: {
      get waiting() {
        return opens.size;
      },
      get dropped() {
        return dropped;
      },
    },
    recordOpen: ({ accountId, ref, by, receivedAt, trace }) => {
      const personAt = by === 'person' ? receivedAt : undefined;
      const open = { accountId, ref, openedAt: receivedAt, personAt, by, trace };
      opens.add(keyOf(open), open);
    },
    close: (ms) => opens.close(ms),
  };
}
