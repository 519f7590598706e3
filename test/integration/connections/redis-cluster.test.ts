import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { minuteCounters } from '../../../account-api/limits/minute-counter.ts';
import { sessionStore } from '../../../control-plane/sessions/session-store.ts';
import { rememberedDevices } from '../../../control-plane/sign-in-limit/remembered-devices.ts';
import { signInLimit } from '../../../control-plane/sign-in-limit/sign-in-limit.ts';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { searchRedis } from '../../../ops/erase/search-redis.ts';
import { needleOf } from '../../../ops/erase/needles.ts';
import { removeClaims } from '../../../ops/log/advance-epoch/apply.ts';
import { listenForWakes } from '../../../ops/operator/wakes.ts';
import type { BackfillTarget } from '../../../platform/claims/backfill.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import { CLUSTER_SHARDS, claimLayout, isClaimKey } from '../../../platform/claims/claim-keys.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { connectClaims } from '../../../platform/claims/connect.ts';
import { createLog } from '../../../platform/log.ts';
import { WAKE_CHANNEL } from '../../../platform/operations/wake.ts';
import { connectRedis } from '../../../platform/redis/client.ts';
import { isSession } from '../../../platform/sessions.ts';
import { redisSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import {
  startRedisCluster,
  type FailOverRedis,
} from '../../support/connections/redis-fail-over.ts';
import { eventually } from '../../support/stack.ts';

const TTL = 48 * 3_600_000;
const NOW = Date.UTC(2026, 10, 28);
const scope = claimScope(1, 'message');
const never = new AbortController().signal;
const log = createLog({ part: 'test', level: 'fatal' });

let servers: FailOverRedis;
let redis: Redis;
const clients: Redis[] = [];
const settings = () => parseSettings(redisSettings, servers.env);

async function ready(client: Redis): Promise<Redis> {
  clients.push(client);
  await eventually({ ms: 20_000, every: 20, waitingFor: 'a connection to the cluster' }, () =>
    Promise.resolve(client.status === 'ready' || undefined),
  );
  return client;
}
const claimsClient = (role: 'gateway' | 'normaliser') =>
  ready(connectClaims({ settings: settings(), role, onError: () => undefined }));

beforeAll(async () => {
  servers = await startRedisCluster();
  redis = await ready(
    connectRedis({ settings: settings(), log, commandTimeout: 5000, name: 'test' }),
  );
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await servers.stop();
});

const entry = (key: string, offset: number): ClaimToResolve => ({
  id: claimId(scope, key),
  position: { epoch: 0, partition: offset % 4, offset, index: 0 },
  ...{ acceptance: offset + 1, receivedAt: NOW },
});
const entries = (name: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => entry(`${name} ${at}`, from + at));
const verdictsOf = async (store: ClaimStore, claims: readonly ClaimToResolve[]) => {
  const resolved = await store.resolve(claims, never);
  return resolved.status === 'lost'
    ? ['lost']
    : [...new Set(resolved.resolutions.map(({ verdict }) => verdict))];
};
const load = (
  store: ClaimStore,
  backfill: (target: BackfillTarget) => Promise<void> = () => Promise.resolve(),
) =>
  store.ensureLoaded({
    ...{ partitions: () => ({ epoch: 0, owned: [0, 1, 2, 3] }), backfill, signal: never },
  });
const sweepAll = async (store: ClaimStore, ends: ReadonlyMap<number, number>) => {
  const statuses = new Set<string>();
  for (let shard = 0; shard < store.shards; shard += 1) {
    const progress = { epoch: 0, processed: [], ends };
    const of = { shard, now: NOW, visits: 1, partitions: 4, progress };
    statuses.add((await store.sweep(of)).status);
  }
  return [...statuses];
};

describe('claims on a Redis Cluster of six processes', () => {
  it('each shard is in its own 32nd of the slots, and every master holds claims', async () => {
    const { prefixes } = claimLayout({ redis });
    const slots = await Promise.all(
      prefixes.map(async (prefix) => Number(await servers.admins[0]?.cluster('KEYSLOT', prefix))),
    );
    expect(slots.map((slot) => Math.floor((slot * CLUSTER_SHARDS) / 16_384))).toEqual(
      Array.from({ length: CLUSTER_SHARDS }, (_, shard) => shard),
    );
  });

  it('the gateway claims, confirms and releases; the normaliser decides', async () => {
    const faults: string[] = [];
    const gateway = new ClaimBatcher({
      ...{ redis: await claimsClient('gateway'), dedupeTtl: TTL },
      onUnavailable: ({ message }) => faults.push(message),
    });
    // Its connections to the nodes open with the first claims, within 250 ms or not.
    await eventually({ ms: 20_000, waitingFor: 'a claim of every shard' }, async () => {
      const { verdicts } = await gateway.claim(
        entries(`warm ${Math.random()}`, 200).map(({ id }) => id),
        NOW,
      );
      return verdicts.every((verdict) => verdict === 'claimed') || undefined;
    });
    for (const fault of faults) expect(fault).toBe('Command timed out');
    const failures = gateway.counters.failures;
    const ids = entries('a', 500).map(({ id }) => id);
    const claimed = await gateway.claim(ids, NOW);
    expect(new Set(claimed.verdicts)).toEqual(new Set(['claimed']));
    const firstHalf = ids.map((_, at) => at).slice(0, 250);
    const secondHalf = ids.map((_, at) => at).slice(250);
    gateway.confirm(claimed, firstHalf);
    await gateway.release(claimed, secondHalf);
    expect(gateway.counters).toMatchObject({ releases: 250, failures });
    const again = await gateway.claim(ids, NOW);
    expect(new Set(again.verdicts.slice(0, 250))).toEqual(new Set(['durable']));
    expect(new Set(again.verdicts.slice(250))).toEqual(new Set(['claimed']));
    await gateway.close();

    const store = new ClaimStore({ redis: await claimsClient('normaliser'), dedupeTtl: TTL });
    expect(await verdictsOf(store, entries('a', 500))).toEqual(['lost']);
    await load(store);
    expect(await verdictsOf(store, entries('a', 500))).toEqual(['first']);
    expect(await verdictsOf(store, entries('a', 500))).toEqual(['replay']);
    expect(await verdictsOf(store, entries('a', 500, 1000))).toEqual(['duplicate']);
    expect(new Set(await store.held(ids, never))).toEqual(new Set([true]));
    expect(await sweepAll(store, new Map())).toEqual(['swept']);
    const keys = await Promise.all(
      servers.admins.slice(0, servers.masters).map((admin) => admin.keys('*')),
    );
    for (const ofMaster of keys) expect(ofMaster.filter(isClaimKey).length).toBeGreaterThan(20);
  });

  it('claims of a release that kept them in one slot are replaced by those of the stored events', async () => {
    const store = new ClaimStore({ redis: await claimsClient('normaliser'), dedupeTtl: TTL });
    await load(store);
    await redis.set('{clm}:marker', 'of a former release');
    await redis.hset('{clm}:\u0001', 'an id', 'a claim');
    // A normaliser of that release resolves claims: ours lack them.
    expect(await sweepAll(store, new Map())).toContain('lost');
    let backfills = 0;
    await load(store, async (target) => {
      backfills += 1;
      await target.waitUntilDrained({ epoch: 0, partitions: 4 });
      expect(await verdictsOf(store, entries('b', 1))).toEqual(['lost']);
      await target.load(entries('b', 300));
    });
    expect(backfills).toBeGreaterThan(0);
    expect(await redis.exists('{clm}:marker')).toBe(0);
    // In the background.
    await expect.poll(() => redis.exists('{clm}:\u0001'), { timeout: 30_000 }).toBe(0);
    expect(await verdictsOf(store, entries('b', 300, 5000))).toEqual(['duplicate']);
    await load(store, () => Promise.reject(new Error('they are loaded')));
  });

  it('a master that dies costs the claims of its shards only, and those from the recorded ends on', async () => {
    const store = new ClaimStore({ redis: await claimsClient('normaliser'), dedupeTtl: TTL });
    await load(store);
    expect(await verdictsOf(store, entries('kept', 200))).toEqual(['first']);
    const ends = new Map([0, 1, 2, 3].map((partition) => [partition, 100 + partition]));
    expect(await sweepAll(store, ends)).toEqual(['swept']);
    const { prefixes } = claimLayout({ redis });
    const markers = () => Promise.all(prefixes.map((prefix) => redis.get(`${prefix}marker`)));
    const before = await markers();
    expect(await redis.wait(1, 5000)).toBeGreaterThanOrEqual(0);

    await servers.killMaster(0);
    const late = entries('late', 300, 9000);
    expect(await verdictsOf(store, late)).toEqual(['lost']);
    const recorded: unknown[] = [];
    await load(store, async (target) => {
      recorded.push(await target.recordedEnds(0));
      await target.load(late);
    });
    expect(recorded.at(-1)).toEqual(ends);
    expect(await verdictsOf(store, entries('kept', 200, 20_000))).toEqual(['duplicate']);
    // Commands of this client fail until it knows the new master.
    const after = await eventually({ ms: 20_000, waitingFor: 'the markers' }, markers);
    const reloaded = after.filter((marker, at) => marker !== before[at]).length;
    expect(reloaded).toBeGreaterThanOrEqual(10);
    expect(reloaded).toBeLessThanOrEqual(11);
    await servers.restart();
  });

  it('advance-epoch removes all of them, and nothing else', async () => {
    await redis.set('of another', '1');
    await removeClaims(settings(), { removesClaims: true });
    // The process that was restarted has its old keys until it is in step with its master.
    await eventually({ ms: 20_000, waitingFor: 'no claims on any process' }, async () => {
      const keys = await Promise.all(servers.admins.map((admin) => admin.keys('*')));
      return keys.flat().some(isClaimKey) ? undefined : true;
    });
    expect(await redis.get('of another')).toBe('1');
  });
});

describe('everything else that is in Redis works on a cluster', () => {
  it('sessions: begin, use, list, end, and the oldest above the maximum', async () => {
    const store = sessionStore(redis, { idle: 60_000, lifetime: 600_000 });
    const member = { memberId: 7, accountId: 1, generation: 1 };
    const tokens: string[] = [];
    for (let at = 0; at < 52; at += 1)
      tokens.push(await store.begin({ ...member, beganAt: Date.now() - 52 + at }));
    expect(await store.list(member)).toHaveLength(50);
    const [first = '', last = ''] = [tokens[0], tokens.at(-1)];
    expect(await store.use(first, Date.now())).toBeUndefined();
    expect(await store.use(last, Date.now())).toMatchObject(member);
    expect(await isSession(redis, last)).toBe(true);
    const [newest] = await store.list(member);
    expect(await store.endById(7, newest?.id ?? '')).toBe(true);
    await store.end(tokens[10] ?? '');
    expect(await store.list(member)).toHaveLength(48);
  });

  it('sign-in limits and remembered devices', async () => {
    const limit = signInLimit(redis);
    const subject = { email: 'a@b.example', ip: '192.0.2.1' };
    for (let at = 0; at < 4; at += 1) expect(await limit.countAttempt(subject)).toBe(0);
    await limit.countAttempt(subject);
    expect(await limit.countAttempt(subject)).toBeGreaterThan(0);
    await limit.discountAttempt(subject);
    await limit.reset(subject);
    expect(await limit.countAttempt(subject)).toBe(0);
    const devices = rememberedDevices(redis);
    const token = await devices.remember(subject.email, undefined, NOW);
    expect(await devices.find(subject.email, token)).toBeDefined();
    expect(await devices.find(subject.email, randomBytes(32).toString('base64url'))).toBe(
      undefined,
    );
  });

  it('budgets of a minute, of many accounts at once', async () => {
    const count = minuteCounters(redis);
    const keys = Array.from({ length: 40 }, (_, at) => `budget:${at}:minute`);
    await Promise.all(keys.map((key) => count(key, 2)));
    expect(await Promise.all(keys.map((key) => count(key, 3)))).toEqual(keys.map(() => 5));
  });

  it('wakes of the operator reach it through any node', async () => {
    const heard: string[] = [];
    const listening = listenForWakes({ settings: settings(), log, name: 'listener' }, (what) =>
      heard.push(what),
    );
    clients.push(listening);
    await eventually({ ms: 20_000, every: 50, waitingFor: 'the subscription' }, () =>
      Promise.resolve(heard.length > 0 || undefined),
    );
    await eventually({ ms: 20_000, every: 50, waitingFor: 'a wake' }, async () => {
      await redis.publish(WAKE_CHANNEL, 'dead_letters');
      return heard.includes('dead_letters') || undefined;
    });
  });

  it('the search for an erased person reads every node', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `note:${at}`);
    await Promise.all(names.map((name) => redis.set(name, 'about somebody-erased')));
    const search = { needles: [needleOf('somebody-erased', false)], signal: never };
    const { findings } = await searchRedis(settings(), search as never);
    expect(findings).toHaveLength(names.length);
  });
});
