import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import { openRedis, type RedisSettings } from './open-redis.ts';

/** A connection that reconnects with backoff and fails its commands fast. */
export function connectRedis(options: {
  settings: RedisSettings;
  log: Log;
  commandTimeout: number;
  name: string;
}): Redis {
  const redis = openRedis(options.settings, {
    connectionName: options.name,
    commandTimeout: options.commandTimeout,
    connectTimeout: 2000,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    retryStrategy: (attempt) =>
      Math.ceil(Math.min(2000, 50 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2)),
  });
  let down = false;
  redis.on('error', (error: Error) => {
    if (!down)
      options.log.warn(
        { err: error, code: 'redis_unreachable' },
        'Redis is not reachable; reconnecting with backoff',
      );
    down = true;
  });
  redis.on('ready', () => {
    if (down) options.log.info('Redis is reachable again');
    down = false;
  });
  return redis;
}
