import type { Redis } from 'ioredis';
import { isClaimKey } from '../../platform/claims/claim-keys.ts';
import { nodesOf, openRedis, type RedisSettings } from '../../platform/redis/open-redis.ts';
import { holds } from './needles.ts';
import type { Finding, Search, Verification } from './findings.ts';

const PER_SCAN = 500;

/** Searches keys and values, but not the claims: they hold hashes of message ids only. */
export async function searchRedis(
  settings: RedisSettings,
  { needles, signal }: Search,
): Promise<Verification> {
  const redis = openRedis(settings, {
    ...{ connectionName: 'ravand-erase', commandTimeout: 10_000, maxRetriesPerRequest: 3 },
  });
  // The first command reports it.
  redis.on('error', () => undefined);
  const findings: Finding[] = [];
  try {
    // A cluster's client knows its nodes after its first answer.
    await redis.ping();
    for (const node of nodesOf(redis)) {
      let cursor = '0';
      do {
        signal.throwIfAborted();
        const [next, keys] = await node.scan(cursor, 'COUNT', PER_SCAN);
        cursor = next;
        for (const key of keys.filter((one) => !isClaimKey(one))) {
          const value = await contentOf(redis, key);
          if (needles.some((needle) => holds(value, needle)))
            findings.push({
              store: 'redis',
              place: key.split(':')[0]?.replace(/[{}]/g, '') ?? '',
              count: 1,
            });
        }
      } while (cursor !== '0');
    }
  } finally {
    redis.disconnect();
  }
  return { findings, mentions: [] };
}

/** The key with everything that it holds. */
async function contentOf(redis: Redis, key: string): Promise<Buffer> {
  switch (await redis.type(key)) {
    case 'string':
      return Buffer.concat([Buffer.from(key), (await redis.getBuffer(key)) ?? Buffer.alloc(0)]);
    case 'hash':
      return Buffer.from(JSON.stringify([key, await redis.hgetall(key)]));
    case 'set':
      return Buffer.from(JSON.stringify([key, await redis.smembers(key)]));
    case 'zset':
      return Buffer.from(JSON.stringify([key, await redis.zrange(key, '0', '-1')]));
    case 'list':
      return Buffer.from(JSON.stringify([key, await redis.lrange(key, 0, -1)]));
    default:
      return Buffer.from(key);
  }
}
