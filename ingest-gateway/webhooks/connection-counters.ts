import { truncateBytes } from '../../events/bytes.ts';
import type { ConnectionStore, DeliveryCounts } from './connection-store.ts';
import { DeferredUpdates } from './deferred-updates.ts';

/** The outcome of one delivery for the counters of its connection. */
export type DeliveryOutcome =
  | { readonly kind: 'accepted'; readonly events: number }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** Longest last_error in bytes (ingest 2.8). */
const MAX_ERROR_BYTES = 500;
const MAX_CONNECTIONS = 20_000;
const LINGER_MS = 50;

/** What a delivery adds to its connection's counters. PostgreSQL text holds no NUL. */
export function countsOf(outcome: DeliveryOutcome): DeliveryCounts {
  const lastError =
    outcome.kind === 'accepted'
      ? ''
      : truncateBytes(outcome.reason.replace(/\p{Cc}+/gu, ' '), MAX_ERROR_BYTES);
  return {
    received: 1,
    accepted: outcome.kind === 'accepted' ? outcome.events : 0,
    rejected: outcome.kind === 'refused' ? 1 : 0,
    lastError,
  };
}

function merge(before: DeliveryCounts, after: DeliveryCounts): DeliveryCounts {
  return {
    received: before.received + after.received,
    accepted: before.accepted + after.accepted,
    rejected: before.rejected + after.rejected,
    lastError: after.lastError,
  };
}

/** The counters of connections, written after the answers (ingest 2.8). */
export function connectionCounters(options: {
  store: Pick<ConnectionStore, 'add'>;
  onFailed: (error: unknown) => void;
}): DeferredUpdates<number, DeliveryCounts> {
  const { store, onFailed } = options;
  return new DeferredUpdates({
    write: (counts) => store.add(counts),
    merge,
    capacity: MAX_CONNECTIONS,
    linger: LINGER_MS,
    random: Math.random,
    onFailed,
  });
}
