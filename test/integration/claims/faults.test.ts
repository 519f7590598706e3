import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { connectClaims } from '../../../platform/claims/connect.ts';
import type { BackfillTarget } from '../../../platform/claims/backfill.ts';
import { unsuitedSettings } from '../../../platform/claims/testing/unsuited-settings.ts';
import { Sweeper } from '../../../platform/claims/sweeper.ts';
import { OwnRedis, redisAt, until } from './redis-under-test.ts';

const TTL = 60_000;
const NOW = Date.UTC(2026, 10, 21);
const scope = claimScope(1, 'message');
const never = new AbortController().signal;
const entry = (key: string, offset: number): ClaimToResolve => {
  return {
    id: claimId(scope, key),
    position: { epoch: 0, partition: 0, offset, index: 0 },
    acceptance: offset + 1,
    receivedAt: NOW,
  };
};
const verdictsOf = async (store: ClaimStore, ...entries: ClaimToResolve[]): Promise<string[]> => {
  const resolved = await store.resolve(entries, never);
  return resolved.status === 'lost' ? ['lost'] : resolved.resolutions.map(({ verdict }) => verdict);
};

let server: OwnRedis;
let open: Redis[] = [];

beforeEach(async () => {
  server = await OwnRedis.start();
});
afterEach(async () => {
  for (const redis of open) redis.disconnect();
  open = [];
  await server.stop();
});

async function connected(role: 'gateway' | 'normaliser'): Promise<Redis> {
  const redis = connectClaims({ settings: redisAt(server.url), role, onError: () => undefined });
  open.push(redis);
  await new Promise((ready) => redis.once('ready', ready));
  return redis;
}

async function newStore(owned: readonly number[] = [0]): Promise<{
  store: ClaimStore;
  load: (work?: (target: BackfillTarget) => Promise<void>) => Promise<void>;
}> {
  const store = new ClaimStore({ redis: await connected('normaliser'), dedupeTtl: TTL });
  const load = (work: (target: BackfillTarget) => Promise<void> = () => Promise.resolve()) =>
    store.ensureLoaded({ partitions: () => ({ epoch: 0, owned }), backfill: work, signal: never });
  return { store, load };
}

describe('the gateway', () => {
  it('continues without claims while Redis hangs, waits for one timeout only, and recovers', async () => {
    let opened = 0;
    const gateway = new ClaimBatcher({
      redis: await connected('gateway'),
      dedupeTtl: TTL,
      onUnavailable: () => (opened += 1),
    });
    const held = await gateway.claim([claimId(scope, 'before')], NOW);
    server.freeze();
    const hanging = await gateway.claim(
      [claimId(scope, 'a'), claimId(scope, 'b'), claimId(scope, 'a')],
      NOW,
    );
    expect(hanging).toMatchObject({
      token: null,
      verdicts: ['unguarded', 'unguarded', 'repeated'],
    });
    expect([gateway.available, opened]).toEqual([false, 1]);
    const flushes = gateway.counters.flushes;
    for (let tries = 0; tries < 100; tries += 1)
      expect((await gateway.claim([claimId(scope, 'c')], NOW)).verdicts).toEqual(['unguarded']);
    expect(gateway.counters.flushes).toBe(flushes);
    // Events that become durable meanwhile are confirmed when Redis is available again.
    gateway.confirm(held);
    server.thaw();
    await until(() => gateway.available && gateway.counters.confirms > 0);
    expect((await gateway.claim([claimId(scope, 'before')], NOW)).verdicts).toEqual(['durable']);
    await gateway.close();
  });

  it('continues without claims while Redis is down, from the first request on', async () => {
    const redis = connectClaims({
      settings: redisAt(server.url),
      role: 'gateway',
      onError: () => undefined,
    });
    open.push(redis);
    await server.kill();
    const gateway = new ClaimBatcher({ redis, dedupeTtl: TTL });
    expect((await gateway.claim([claimId(scope, 'a')], NOW)).verdicts).toEqual(['unguarded']);
    await server.up();
    await until(() => gateway.available);
    expect((await gateway.claim([claimId(scope, 'a')], NOW)).verdicts).toEqual(['claimed']);
    await gateway.close();
  });

  it('reports the server settings that are unsuitable for claims', async () => {
    const redis = await connected('gateway');
    expect(await unsuitedSettings(redis)).toEqual([]);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await unsuitedSettings(redis)).toEqual([
      expect.stringContaining('maxmemory-policy allkeys-lru: claims need noeviction'),
    ]);
  });

  it('continues without claims when Redis is out of memory', async () => {
    const redis = await connected('gateway');
    await redis.config('SET', 'maxmemory', 1);
    const gateway = new ClaimBatcher({ redis, dedupeTtl: TTL });
    expect((await gateway.claim([claimId(scope, 'a')], NOW)).verdicts).toEqual(['unguarded']);
    await gateway.close();
  });
});

describe('the normaliser', () => {
  it('resolves no claims in a Redis without loaded claims', async () => {
    const { store, load } = await newStore();
    expect(await verdictsOf(store, entry('a', 1))).toEqual(['lost']);
    await load();
    expect(await verdictsOf(store, entry('a', 1), entry('a', 2))).toEqual(['first', 'duplicate']);
  });

  it('detects FLUSHALL, and knows the old events again after a backfill', async () => {
    const { store, load } = await newStore();
    await load();
    expect(await verdictsOf(store, entry('a', 1))).toEqual(['first']);
    await open[0]?.flushall();
    expect(await verdictsOf(store, entry('a', 2))).toEqual(['lost']);
    await load((target) => target.load([entry('a', 1)]));
    expect(await verdictsOf(store, entry('a', 2))).toEqual(['duplicate']);
  });

  it('detects a restart even when Redis restored its data', async () => {
    const { store, load } = await newStore();
    await load();
    expect(await verdictsOf(store, entry('a', 1))).toEqual(['first']);
    await open[0]?.config('SET', 'appendfsync', 'always');
    expect(await verdictsOf(store, entry('b', 2))).toEqual(['first']);
    await server.restart();
    expect(await verdictsOf(store, entry('a', 3))).toEqual(['lost']);
    await load();
    expect(await verdictsOf(store, entry('b', 3))).toEqual(['duplicate']);
  });

  it('keeps the recorded ends over a restart, and loses them with the claims', async () => {
    const { store, load } = await newStore();
    await load();
    await open[0]?.config('SET', 'appendfsync', 'always');
    const ends = new Map([
      [0, 7],
      [1, 9],
    ]);
    const progress = { epoch: 0, processed: [{ partition: 0, until: Date.now() }], ends };
    await store.sweep({ shard: 0, now: Date.now(), visits: 1, partitions: 2, progress });
    const recorded: unknown[] = [];
    const record = async (target: BackfillTarget) => {
      for (const epoch of [0, 1]) recorded.push(await target.recordedEnds(epoch));
    };
    await server.restart();
    expect(await verdictsOf(store)).toEqual(['lost']);
    await load(record);
    await open[0]?.flushall();
    await load(record);
    const none = new Map();
    expect(recorded).toEqual([ends, none, none, none]);
  });

  it('waits while Redis is unavailable, and stops waiting when the signal aborts', async () => {
    const { store, load } = await newStore();
    await load();
    await server.kill();
    const stop = new AbortController();
    const waiting = store.resolve([entry('a', 1)], stop.signal);
    setTimeout(() => {
      stop.abort(new Error('shutting down'));
    }, 100);
    await expect(waiting).rejects.toThrow('shutting down');
    const retrying = store.resolve([entry('a', 1)], never);
    await server.up();
    expect(await retrying).toEqual({ status: 'lost' });
  });

  it('detects through its sweeper, without traffic, that Redis was emptied', async () => {
    const { store, load } = await newStore();
    await load();
    let lost = 0;
    const sweeper = new Sweeper({
      store,
      dedupeTtl: TTL,
      partitions: 1,
      progress: () => ({ epoch: 0, processed: [{ partition: 0, until: Date.now() }] }),
      onLost: () => (lost += 1),
      onError: (error) => expect.fail(error.message),
    });
    sweeper.start();
    await open[0]?.flushall();
    await until(() => lost > 0);
    await sweeper.stop();
  });
});

describe('several normalisers', () => {
  it('backfill once: the others wait, and the backfill waits until all partitions are drained', async () => {
    const [one, two] = [await newStore([0]), await newStore([1])];
    const steps: string[] = [];
    const work = (name: string) => async (target: BackfillTarget) => {
      steps.push(`${name} backfills`);
      await target.waitUntilDrained({ epoch: 0, partitions: 2 });
      steps.push('all are drained');
      await target.load([entry('a', 1)]);
    };
    const first = one.load(work('one'));
    await until(() => steps.length === 1);
    await new Promise((later) => setTimeout(later, 700));
    expect(steps).toEqual(['one backfills']);
    await Promise.all([first, two.load(work('two'))]);
    expect(steps).toEqual(['one backfills', 'all are drained']);
    expect(await verdictsOf(two.store, entry('a', 9))).toEqual(['duplicate']);
    expect(await verdictsOf(one.store, entry('a', 1))).toEqual(['replay']);
  });

  it('start the backfill over when it fails', async () => {
    const { store, load } = await newStore();
    let attempts = 0;
    await load(async (target) => {
      attempts += 1;
      if (attempts < 3) throw new Error('ClickHouse is unavailable');
      await target.load([entry('a', 1)]);
    });
    expect(attempts).toBe(3);
    expect(await verdictsOf(store, entry('a', 2))).toEqual(['duplicate']);
  });

  it('start the backfill over when Redis is emptied or restarted during it', async () => {
    for (const lose of [() => open[0]?.flushall(), () => server.restart()]) {
      const { store, load } = await newStore();
      await open[0]?.flushall();
      let attempts = 0;
      await load(async (target) => {
        attempts += 1;
        await target.load([entry('a', 1)]);
        if (attempts === 1) await lose();
        await target.load([entry('b', 2)]);
      });
      expect(attempts).toBe(2);
      expect(await verdictsOf(store, entry('a', 8), entry('b', 9))).toEqual([
        'duplicate',
        'duplicate',
      ]);
    }
  });
});
