import type { Redis } from 'ioredis';
import { nodesOf } from '../redis/open-redis.ts';

/** Keys that are removed at a time. */
const SCAN = 1000;

/** Removes the keys of a pattern, on every node. One attempt; repeating it is safe. */
export async function removeKeys(redis: Redis, pattern: string): Promise<void> {
  for (const node of nodesOf(redis)) {
    let cursor = '0';
    do {
      // Keys of buckets end with bytes that are no text (platform/claims/lua.ts).
      const [next, keys] = await node.scanBuffer(cursor, 'MATCH', pattern, 'COUNT', SCAN);
      if (keys.length > 0) {
        // One command each: on a cluster a command has keys of one slot only.
        const removal = node.pipeline();
        for (const key of keys) removal.unlink(key);
        for (const [error] of (await removal.exec()) ?? []) if (error) throw error;
      }
      cursor = next.toString();
    } while (cursor !== '0');
  }
}
