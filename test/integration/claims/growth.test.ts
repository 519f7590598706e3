import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bucketKey, bucketOf } from '../../../events/claims/bucket.ts';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { clearPrefix, ownPrefix, stackRedisUrl } from './redis-under-test.ts';

const AT = Date.UTC(2026, 10, 21);
const never = new AbortController().signal;
const prefix = ownPrefix();
let redis: Redis;

beforeAll(() => {
  redis = new Redis(stackRedisUrl());
});
afterAll(async () => {
  await clearPrefix(redis, prefix);
  redis.disconnect();
});

it('the table grows bucket by bucket: every claim is in its bucket, and every bucket stays a listpack', async () => {
  await redis.set(`${prefix}count`, 3);
  const store = new ClaimStore({ redis, dedupeTtl: 60_000, prefix });
  await store.ensureLoaded({
    partitions: () => ({ epoch: 0, owned: [] }),
    backfill: () => Promise.resolve(),
    signal: never,
  });
  const scope = claimScope('growth', 'message');
  const entries = Array.from({ length: 30_000 }, (_, offset): ClaimToResolve => {
    return {
      id: claimId(scope, String(offset)),
      position: { epoch: 0, partition: 0, offset, index: 0 },
      acceptance: 1,
      receivedAt: AT,
    };
  });
  const resolved = await store.resolve(entries, never);
  expect(
    resolved.status === 'resolved' &&
      resolved.resolutions.every(({ verdict }) => verdict === 'first'),
  ).toBe(true);

  const count = Number(await redis.get(`${prefix}count`));
  expect(count).toBeGreaterThan(30_000 / 64);
  const again = await store.resolve(entries, never);
  expect(
    again.status === 'resolved' && again.resolutions.every(({ verdict }) => verdict === 'replay'),
  ).toBe(true);

  const lookups = redis.pipeline();
  for (const { id } of entries)
    lookups.hexists(bucketKey(prefix, bucketOf(id, count)), Buffer.from(id, 'latin1'));
  const found = (await lookups.exec()) ?? [];
  expect(found.filter(([, exists]) => exists !== 1)).toHaveLength(0);

  let stored = 0;
  for (let bucket = 0; bucket < count; bucket += 1) {
    const size = await redis.hlen(bucketKey(prefix, bucket));
    stored += size;
    if (size > 0)
      expect(await redis.object('ENCODING', bucketKey(prefix, bucket))).toBe('listpack');
  }
  expect(stored).toBe(entries.length);
});

it('the sweep removes claims that left the window only when every partition has been processed past it', async () => {
  const store = new ClaimStore({ redis, dedupeTtl: 60_000, prefix });
  await store.ensureLoaded({
    partitions: () => ({ epoch: 0, owned: [] }),
    backfill: () => Promise.reject(new Error('loaded already')),
    signal: never,
  });
  const now = AT + 24 * 3_600_000;
  const visits = Number(await redis.get(`${prefix}count`));
  const sweep = (partition: number, until: number) =>
    store.sweep({
      shard: 0,
      now,
      visits,
      partitions: 2,
      progress: { epoch: 0, processed: [{ partition, until }] },
    });
  expect(await sweep(0, now)).toMatchObject({
    status: 'swept',
    visited: visits,
    seen: 30_000,
    removed: 0,
  });
  expect(await sweep(1, AT + 1_000)).toMatchObject({ seen: 30_000, removed: 0 });
  expect(await sweep(1, now)).toMatchObject({ seen: 30_000, removed: 30_000 });
  expect(await sweep(1, now)).toMatchObject({ seen: 0 });
});
