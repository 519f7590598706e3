import type { Redis } from 'ioredis';
import { openRedis, type RedisSettings } from '../redis/open-redis.ts';

/** A request waits this long for claims, then goes without (ingest 2.5, rule 4). */
export const GATEWAY_TIMEOUT_MS = 250;
/** The normaliser retries until Redis answers; the timeout detects a server that hangs. */
const NORMALISER_TIMEOUT_MS = 5_000;
const RECONNECT_CAP_MS = 1_000;

/**
 * A dedicated connection for claims. The client library neither queues commands while Redis is
 * unavailable nor resends them: callers decide what a missing reply means. Reconnects forever, at
 * most a second apart, with jitter. Close it with disconnect().
 */
export function connectClaims(options: {
  readonly settings: RedisSettings;
  readonly role: 'gateway' | 'normaliser';
  readonly onError: (error: Error) => void;
}): Redis {
  const timeout = options.role === 'gateway' ? GATEWAY_TIMEOUT_MS : NORMALISER_TIMEOUT_MS;
  const redis = openRedis(options.settings, {
    connectionName: `ravand-claims-${options.role}`,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: timeout,
    connectTimeout: 2_000,
    // Detects a peer that vanished without closing the connection.
    socketTimeout: 10_000,
    keepAlive: 5_000,
    retryStrategy: (attempt) =>
      Math.min(RECONNECT_CAP_MS, 50 * 2 ** Math.min(attempt, 5)) * (0.75 + Math.random() / 2),
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  redis.on('error', options.onError);
  return redis;
}
