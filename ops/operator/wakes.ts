import type { Redis } from 'ioredis';
import type { Log } from '../../platform/log.ts';
import { WAKE_CHANNEL, type Wake } from '../../platform/operations/wake.ts';
import { connectRedis } from '../../platform/redis/client.ts';
import type { RedisSettings } from '../../platform/redis/open-redis.ts';

const WAKES: readonly string[] = ['operations', 'dead_letters'] satisfies Wake[];

/** Calls back when somebody asks for something; for everything when the connection is new. */
export function listenForWakes(
  { settings, log, name }: { settings: RedisSettings; log: Log; name: string },
  onWake: (what: Wake) => void,
): Redis {
  const redis = connectRedis({ settings, log, name, commandTimeout: 2000 });
  redis.on('ready', () => {
    redis.subscribe(WAKE_CHANNEL).then(
      () => onWake('operations'),
      (error: unknown) =>
        log.warn({ err: error, code: 'wakes_not_heard' }, 'operations begin some seconds late'),
    );
  });
  redis.on('message', (_, what) => {
    if (WAKES.includes(what)) onWake(what as Wake);
  });
  return redis;
}
