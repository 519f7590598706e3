import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { connectClaims } from '../../../platform/claims/connect.ts';
import type { BackfillTarget } from '../../../platform/claims/backfill.ts';
import { unsuitedSettings } from '../../../platform/claims/server-check.ts';
import { Sweeper } from '../../../platform/claims/sweeper.ts';
import { OwnRedis, until } from './redis-under-test.ts';

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
  const settled = await store.resolve(entries, never);
  return settled.status === 'lost' ? ['lost'] : settled.settlements.map(({ verdict }) => verdict);
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
  const redis = connectClaims({ url: server.url, role, onError: () => undefined });
  open.push(redis);
  await new Promise((ready) => redis.once('ready', ready));
  return redis;
}

async function newStore(owned: readonly number[] = [0]): Promise<{
  store: ClaimStore;
  fill: (work?: (target: BackfillTarget) => Promise<void>) => Promise<void>;
}> {
  const store = new ClaimStore({ redis: await connected('normaliser'), dedupeTtl: TTL });
  const fill = (work: (target: BackfillTarget) => Promise<void> = () => Promise.resolve()) =>
    store.ensureLoaded({ partitions: () => ({ epoch: 0, owned }), backfill: work, signal: never });
  return { store, fill };
}

describe('the gateway', () => {
  it('goes on without claims while Redis hangs, waits only once, and comes back', async () => {
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
    // What becomes durable meanwhile is raised when Redis is back.
    gateway.confirm(held);
    server.thaw();
    await until(() => gateway.available && gateway.counters.raises > 0);
    expect((await gateway.claim([claimId(scope, 'before')], NOW)).verdicts).toEqual(['durable']);
    await gateway.close();
  });

  it('goes on without claims while Redis is down, from the first request on', async () => {
    const redis = connectClaims({ url: server.url, role: 'gateway', onError: () => undefined });
    open.push(redis);
    await server.kill();
    const gateway = new ClaimBatcher({ redis, dedupeTtl: TTL });
    expect((await gateway.claim([claimId(scope, 'a')], NOW)).verdicts).toEqual(['unguarded']);
    await server.up();
    await until(() => gateway.available);
    expect((await gateway.claim([claimId(scope, 'a')], NOW)).verdicts).toEqual(['claimed']);
    await gateway.close();
  });

  it('is told which settings of the server do not suit claims', async () => {
    const redis = await connected('gateway');
    expect(await unsuitedSettings(redis)).toEqual([]);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await unsuitedSettings(redis)).toEqual([
      expect.stringContaining('maxmemory-policy allkeys-lru: claims need noeviction'),
    ]);
  });

  it('goes on without claims when Redis is full', async () => {
    const redis = await connected('gateway');
    await redis.config('SET', 'maxmemory', 1);
    const gateway = new ClaimBatcher({ redis, dedupeTtl: TTL });
    expect((await gateway.claim([claimId(scope, 'a')], NOW)).verdicts).toEqual(['unguarded']);
    await gateway.close();
  });
});

describe('the normaliser', () => {
  it('settles nothing in a Redis that nobody filled', async () => {
    const { store, fill } = await newStore();
    expect(await verdictsOf(store, entry('a', 1))).toEqual(['lost']);
    await fill();
    expect(await verdictsOf(store, entry('a', 1), entry('a', 2))).toEqual(['first', 'duplicate']);
  });

  it('notices FLUSHALL, and after a refill knows the old events again', async () => {
    const { store, fill } = await newStore();
    await fill();
    expect(await verdictsOf(store, entry('a', 1))).toEqual(['first']);
    await open[0]?.flushall();
    expect(await verdictsOf(store, entry('a', 2))).toEqual(['lost']);
    await fill((target) => target.load([entry('a', 1)]));
    expect(await verdictsOf(store, entry('a', 2))).toEqual(['duplicate']);
  });

  it('notices a restart although the data came back with it', async () => {
    const { store, fill } = await newStore();
    await fill();
    expect(await verdictsOf(store, entry('a', 1))).toEqual(['first']);
    await open[0]?.config('SET', 'appendfsync', 'always');
    expect(await verdictsOf(store, entry('b', 2))).toEqual(['first']);
    await server.restart();
    expect(await verdictsOf(store, entry('a', 3))).toEqual(['lost']);
    await fill();
    expect(await verdictsOf(store, entry('b', 3))).toEqual(['duplicate']);
  });

  it('waits while Redis is away, and stops waiting when told to', async () => {
    const { store, fill } = await newStore();
    await fill();
    await server.kill();
    const stop = new AbortController();
    const waiting = store.resolve([entry('a', 1)], stop.signal);
    setTimeout(() => {
      stop.abort(new Error('shutting down'));
    }, 100);
    await expect(waiting).rejects.toThrow('shutting down');
    const patient = store.resolve([entry('a', 1)], never);
    await server.up();
    expect(await patient).toEqual({ status: 'lost' });
  });

  it('is told by its sweeper that Redis was emptied, without traffic', async () => {
    const { store, fill } = await newStore();
    await fill();
    let lost = 0;
    const sweeper = new Sweeper({
      store,
      dedupeTtl: TTL,
      partitions: 1,
      progress: () => ({ epoch: 0, settled: [{ partition: 0, at: Date.now() }] }),
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
  it('fill once: the others wait, and the filler waits until all partitions lie still', async () => {
    const [one, two] = [await newStore([0]), await newStore([1])];
    const steps: string[] = [];
    const work = (name: string) => async (target: BackfillTarget) => {
      steps.push(`${name} fills`);
      await target.waitUntilDrained({ epoch: 0, partitions: 2 });
      steps.push('all lie still');
      await target.load([entry('a', 1)]);
    };
    const first = one.fill(work('one'));
    await until(() => steps.length === 1);
    await new Promise((later) => setTimeout(later, 700));
    expect(steps).toEqual(['one fills']);
    await Promise.all([first, two.fill(work('two'))]);
    expect(steps).toEqual(['one fills', 'all lie still']);
    expect(await verdictsOf(two.store, entry('a', 9))).toEqual(['duplicate']);
    expect(await verdictsOf(one.store, entry('a', 1))).toEqual(['replay']);
  });

  it('a fill that fails is begun again', async () => {
    const { store, fill } = await newStore();
    let attempts = 0;
    await fill(async (target) => {
      attempts += 1;
      if (attempts < 3) throw new Error('ClickHouse is away');
      await target.load([entry('a', 1)]);
    });
    expect(attempts).toBe(3);
    expect(await verdictsOf(store, entry('a', 2))).toEqual(['duplicate']);
  });

  it('a fill is worth nothing when Redis was emptied or restarted under it', async () => {
    for (const lose of [() => open[0]?.flushall(), () => server.restart()]) {
      const { store, fill } = await newStore();
      await open[0]?.flushall();
      let attempts = 0;
      await fill(async (target) => {
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
