import { Redis } from 'ioredis';

/**
 * A gateway's request waits no longer than this for its claims; then the events go on without them
 * (ingest 2.5, rule 4).
 */
export const GATEWAY_BUDGET_MS = 250;
/** The normaliser has no better choice than to wait, but notices a server that hangs. */
const NORMALISER_TIMEOUT_MS = 5_000;
const RECONNECT_CAP_MS = 1_000;

/**
 * Keys of claims begin so. The hash tag keeps them in one slot, as the scripts need it on a Redis
 * Cluster.
 */
export const DEFAULT_PREFIX = '{clm}:';

/**
 * A connection of its own for claims. Nothing is queued while Redis is away and nothing is sent
 * again by the client library: the callers decide what a missing answer means. Reconnects for ever,
 * at most a second apart, with jitter. Close it with disconnect().
 */
export function connectClaims(options: {
  readonly url: string;
  readonly role: 'gateway' | 'normaliser';
  readonly onError: (error: Error) => void;
}): Redis {
  const timeout = options.role === 'gateway' ? GATEWAY_BUDGET_MS : NORMALISER_TIMEOUT_MS;
  const redis = new Redis(options.url, {
    connectionName: `ravand-claims-${options.role}`,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: timeout,
    connectTimeout: 2_000,
    // A peer that vanished without a word is noticed although the socket looks open.
    socketTimeout: 10_000,
    keepAlive: 5_000,
    retryStrategy: (attempt) =>
      Math.min(RECONNECT_CAP_MS, 50 * 2 ** Math.min(attempt, 5)) * (0.75 + Math.random() / 2),
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  redis.on('error', options.onError);
  return redis;
}
