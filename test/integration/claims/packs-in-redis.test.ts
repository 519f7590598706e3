import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bucketKey } from '../../../events/claims/bucket.ts';
import { claimId, claimScope, type ClaimId } from '../../../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { sweepSlack } from '../../../events/claims/sweep.ts';
import { claimLayout, CLUSTER_SHARDS } from '../../../platform/claims/claim-keys.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { PACKED_ID_BYTES, PACK_LIMIT, PART_HEADER_BYTES } from '../../../platform/claims/packs.ts';
import { FULL } from '../../support/stack.ts';
import { clearPrefix, OwnRedis, ownPrefix, stackRedisUrl } from './redis-under-test.ts';

const TTL = 3_600_000;
const AT = Date.UTC(2026, 10, 21);
/** Few, so that a sweep visits all of them with few calls. */
const BUCKETS = 64;
const IDS = 12_000;
const KILLS = FULL ? 10 : 2;
const never = new AbortController().signal;
const scope = claimScope('packs', 'message');

const claimsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at): ClaimToResolve => {
    const position = { epoch: 0, partition: 0, offset: from + at, index: 0 };
    const receivedAt = AT + Math.floor((at / count) * TTL);
    return {
      ...{ id: claimId(scope, String(from + at)), position, acceptance: from + at + 1, receivedAt },
    };
  });
const idsOf = (claims: readonly ClaimToResolve[]) => claims.map(({ id }) => id);

/** One round over all buckets; everything below `stored` is stored. */
async function sweepAll(
  store: ClaimStore,
  { now, stored, processed = AT }: { now: number; stored: number; processed?: number },
): Promise<{ packed: number; removed: number }> {
  const sum = { packed: 0, removed: 0 };
  const progress = {
    ...{ epoch: 0, processed: [{ partition: 0, until: processed }] },
    stored: new Map([[0, stored]]),
  };
  for (let shard = 0; shard < store.shards; shard += 1)
    for (let visited = 0, buckets = 1; visited < buckets; visited += 16) {
      const report = await store.sweep({ ...{ shard, now, visits: 16, partitions: 1, progress } });
      ({ buckets } = report);
      sum.packed += report.packed;
      sum.removed += report.removed;
    }
  return sum;
}

const loadNothing = (store: ClaimStore) =>
  store.ensureLoaded({
    partitions: () => ({ epoch: 0, owned: [0] }),
    backfill: () => Promise.resolve(),
    signal: never,
  });
const statesOf = async (store: ClaimStore, ids: readonly ClaimId[]) => {
  const states: Record<string, number> = {};
  for (const entry of await store.peek(ids)) {
    const state = entry?.state ?? 'none';
    states[state] = (states[state] ?? 0) + 1;
  }
  return states;
};

describe('packs in Redis', () => {
  let redis: Redis;
  const prefixes: string[] = [];
  beforeAll(() => {
    redis = new Redis(stackRedisUrl());
  });
  afterAll(async () => {
    for (const prefix of prefixes) await clearPrefix(redis, prefix);
    redis.disconnect();
  });
  async function open(options: Partial<ConstructorParameters<typeof ClaimStore>[0]> = {}) {
    const prefix = ownPrefix();
    prefixes.push(prefix);
    const of = { redis, prefix, dedupeTtl: TTL, packAfter: () => 0, ...options };
    for (const shard of claimLayout(of).prefixes) await redis.set(`${shard}count`, BUCKETS);
    return { prefix, store: new ClaimStore(of) };
  }
  const packsOf = async (prefix: string) => {
    const count = Number(await redis.get(`${prefix}pack-count`));
    const values = await Promise.all(
      Array.from({ length: count }, (_, at) => redis.getBuffer(bucketKey(`${prefix}p`, at))),
    );
    return values.flatMap((value) => (value ? [value] : []));
  };
  const entriesOf = (pack: Buffer) => {
    let entries = 0;
    for (let at = 0; at < pack.length;) {
      const count = pack.readUInt16BE(at + 10);
      entries += count;
      at += PART_HEADER_BYTES + count * PACKED_ID_BYTES;
    }
    return entries;
  };

  it('take what is stored, split as they grow, keep every claim, and leave with the window', async () => {
    const { store, prefix } = await open({ firstPacks: 2 });
    await loadNothing(store);
    const claims = claimsOf(IDS);
    await store.resolve(claims, never);
    const before = Number(await redis.get(`${prefix}count`));
    expect(before).toBeGreaterThan(BUCKETS);

    const now = AT + TTL;
    expect(await sweepAll(store, { now, stored: 0 })).toEqual({ packed: 0, removed: 0 });
    expect((await sweepAll(store, { now, stored: 8000 })).packed).toBe(8000);
    expect(await statesOf(store, idsOf(claims))).toEqual({ packed: 8000, resolved: 4000 });
    expect((await sweepAll(store, { now, stored: IDS })).packed).toBe(4000);
    // Splits follow writes, a few at a time.
    const more = claimsOf(1000, IDS);
    await store.resolve(more, never);
    await sweepAll(store, { now, stored: IDS + 1000 });
    expect(await statesOf(store, idsOf([...claims, ...more]))).toEqual({ packed: IDS + 1000 });
    const packs = await packsOf(prefix);
    const sizes = packs.map(entriesOf);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(IDS + 1000);
    expect(packs.length).toBeGreaterThan((IDS + 1000) / (2 * PACK_LIMIT));
    expect(Math.max(...sizes)).toBeLessThan(3 * PACK_LIMIT);

    const entries = await store.peek(idsOf(claims));
    for (const [at, claim] of claims.entries()) {
      const entry = entries[at];
      const ends = claim.receivedAt + TTL;
      expect(entry?.state === 'packed' && entry.since <= ends && ends <= entry.expires).toBe(true);
      expect(entry?.state === 'packed' && entry.expires - entry.since).toBeLessThan(TTL / 16);
    }
    // Half of the window has ended.
    const processed = AT + 1.5 * TTL + sweepSlack(TTL);
    const { removed } = await sweepAll(store, { now: processed, stored: 0, processed });
    expect(removed).toBeGreaterThan((7 / 16) * IDS);
    expect(removed).toBeLessThanOrEqual(IDS / 2 + 500);
    const end = processed + TTL;
    await sweepAll(store, { now: end, stored: 0, processed: end });
    expect(await packsOf(prefix)).toEqual([]);
  });

  it('take nothing that is young, and nothing while another release may read claims', async () => {
    const options: { age: number | undefined } = { age: undefined };
    const { store } = await open({ packAfter: () => options.age });
    await loadNothing(store);
    const claims = claimsOf(1000);
    await store.resolve(claims, never);
    const of = { now: AT + TTL, stored: 1000 };
    expect((await sweepAll(store, of)).packed).toBe(0);
    options.age = TTL / 2;
    expect((await sweepAll(store, of)).packed).toBe(501);
    options.age = 0;
    expect((await sweepAll(store, of)).packed).toBe(499);
  });

  it('answer for claims without a row as the window says, and keep what is redriven', async () => {
    const { store } = await open({ firstPacks: 1 });
    await loadNothing(store);
    const [claim] = claimsOf(1);
    if (!claim) throw new Error('no claim');
    await store.resolve(
      [claim, { ...claim, id: claimId(scope, 'last'), receivedAt: AT + 1000 }],
      never,
    );
    await sweepAll(store, { now: AT + TTL, stored: 10 });
    const verdict = async (changes: Partial<ClaimToResolve>) => {
      const position = { epoch: 0, partition: 1, offset: 1, index: 0 };
      const resolved = await store.resolve([{ ...claim, position, ...changes }], never);
      return resolved.status === 'resolved' ? resolved.resolutions[0]?.verdict : resolved.status;
    };
    const stored = 'none';
    // The record itself, or a copy of it, of a row that is erased, or of a dead letter.
    expect(await verdict({})).toBe('ask');
    expect(await verdict({ stored })).toBe('duplicate');
    // Another acceptance needs no row, but one that may be at the edge of the window.
    expect(await verdict({ receivedAt: AT + TTL - 1 })).toBe('duplicate');
    expect(await verdict({ stored: 'ask', receivedAt: AT + TTL - 1 })).toBe('ask');
    expect(await verdict({ receivedAt: AT - TTL })).toBe('first');
    expect(await verdict({ receivedAt: AT - TTL + 500 })).toBe('ask');
    expect(await verdict({ receivedAt: AT - TTL + 500, stored })).toBe('first');
    expect(await verdict({ receivedAt: AT + TTL + 500 })).toBe('ask');
    expect((await store.peek([claim.id]))[0]?.state).toBe('packed');
    const redrivenFrom = claim.position;
    expect(await verdict({ redrivenFrom })).toBe('ask');
    expect(await verdict({ redrivenFrom, stored })).toBe('first');
    expect((await store.peek([claim.id]))[0]?.state).toBe('resolved');
  });

  it.each([1, CLUSTER_SHARDS])(
    'are filled while the window is loaded into %i shards, before all claims fit beside them',
    async (shards) => {
      const { store } = await open({ shards, maxUnpacked: 3200 });
      const claims = claimsOf(10_000);
      await store.ensureLoaded({
        partitions: () => ({ epoch: 0, owned: [0] }),
        backfill: async (target) => {
          target.packBelow(new Map([[0, 8000]]));
          for (let from = 0; from < claims.length; from += 500)
            await target.load(claims.slice(from, from + 500));
        },
        signal: never,
      });
      const states = await statesOf(store, idsOf(claims));
      expect((states['packed'] ?? 0) + (states['resolved'] ?? 0)).toBe(claims.length);
      // What was loaded since the last round, and what may not be stored.
      expect(states['resolved']).toBeLessThanOrEqual(2000 + 2 * 3200);
      const again = await store.resolve(claims, never);
      if (again.status !== 'resolved') throw new Error(again.status);
      const verdicts = new Set(again.resolutions.map(({ verdict }) => verdict));
      expect([...verdicts].toSorted()).toEqual(['ask', 'replay']);
    },
  );

  it('and claims hold each id once when Redis is killed at any moment while it packs', async () => {
    const own = await OwnRedis.start();
    const connect = () => new Redis(own.url, { maxRetriesPerRequest: 0, retryStrategy: () => 20 });
    let client = connect();
    client.on('error', () => undefined);
    try {
      await client.set('{clm}:count', BUCKETS);
      const opened = () => new ClaimStore({ redis: client, dedupeTtl: TTL, packAfter: () => 0 });
      let store = opened();
      await loadNothing(store);
      const claims = claimsOf(3000);
      await store.resolve(claims, never);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const of = { now: AT + TTL, stored: ((kill + 1) * 3000) / KILLS };
        const sweeping = sweepAll(store, of).catch(() => undefined);
        for (let calls = 0; calls < 3 + 5 * kill; calls += 1) await client.ping();
        await own.restart();
        await sweeping;
        client.disconnect();
        client = connect();
        client.on('error', () => undefined);
        store = opened();
        await loadNothing(store);
        const states = await statesOf(store, idsOf(claims));
        expect((states['packed'] ?? 0) + (states['resolved'] ?? 0)).toBe(claims.length);
        const buckets = Number(await client.get('{clm}:count'));
        let stored = 0;
        for (let at = 0; at < buckets; at += 1)
          stored += await client.hlen(bucketKey('{clm}:', at));
        for (const key of await client.keysBuffer('{clm}:p????'))
          if (key.length === 11) stored += entriesOf((await client.getBuffer(key)) ?? Buffer.of());
        expect(stored).toBe(claims.length);
      }
    } finally {
      client.disconnect();
      await own.stop();
    }
  });
});
