import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimId } from '../../../events/claims/claim-id.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import type { ClaimBatcherOptions } from '../../../platform/claims/claim-batcher.ts';
import { connectClaims } from '../../../platform/claims/connect.ts';
import { clearPrefix, ownPrefix, redisAt, stackRedisUrl } from './redis-under-test.ts';

const TTL = 60_000;
const NOW = Date.UTC(2026, 10, 21);
const scope = claimScope(1, 'message');
const prefix = ownPrefix();
let redis: Redis;
let fresh = 0;

const ids = (count: number): ClaimId[] =>
  Array.from({ length: count }, () => claimId(scope, `fresh ${(fresh += 1)}`));
const batcher = (more: Partial<ClaimBatcherOptions> = {}) =>
  new ClaimBatcher({ redis, dedupeTtl: TTL, prefix, ...more });

beforeAll(async () => {
  redis = connectClaims({
    settings: redisAt(stackRedisUrl()),
    role: 'gateway',
    onError: () => undefined,
  });
  await new Promise((ready) => redis.once('ready', ready));
});
beforeEach(() => clearPrefix(redis, prefix));
afterAll(async () => {
  await clearPrefix(redis, prefix);
  redis.disconnect();
});

describe('one gateway', () => {
  it('sends the claims of all requests of one turn of the event loop in one call', async () => {
    const gateway = batcher();
    const claimed = await Promise.all(Array.from({ length: 50 }, () => gateway.claim(ids(3), NOW)));
    expect(
      claimed.every(({ verdicts }) => verdicts.every((verdict) => verdict === 'claimed')),
    ).toBe(true);
    expect(gateway.counters).toMatchObject({ claims: 150, flushes: 1, failures: 0 });
    await gateway.close();
  });

  it('splits the claims over several calls above the limit, and answers every request', async () => {
    const gateway = batcher();
    const claimed = await Promise.all(
      Array.from({ length: 30 }, () => gateway.claim(ids(500), NOW)),
    );
    expect(
      claimed.flatMap(({ verdicts }) => verdicts.filter((verdict) => verdict === 'claimed')),
    ).toHaveLength(15_000);
    expect(gateway.counters.flushes).toBe(8);
    await gateway.close();
  });

  it('distinguishes an id repeated in a request from the same id in another request of the batch', async () => {
    const gateway = batcher();
    const [id] = ids(1) as [ClaimId];
    const [one, two] = await Promise.all([
      gateway.claim([id, id], NOW),
      gateway.claim([id, id], NOW),
    ]);
    expect(one.verdicts).toEqual(['claimed', 'repeated']);
    expect(two.verdicts).toEqual(['pending-elsewhere', 'repeated']);
    await gateway.close();
  });

  it('sees in the next claim the claims that it has just confirmed', async () => {
    const gateway = batcher({ confirmDelay: 60_000 });
    const asked = ids(2);
    gateway.confirm(await gateway.claim(asked, NOW), [0]);
    expect((await gateway.claim(asked, NOW)).verdicts).toEqual(['durable', 'pending-elsewhere']);
    await gateway.close();
  });

  it('confirms without a further claim call, and on close', async () => {
    const gateway = batcher({ confirmDelay: 1 });
    const first = ids(1);
    gateway.confirm(await gateway.claim(first, NOW));
    await expect.poll(() => gateway.counters.confirms).toBe(1);
    const second = ids(1);
    gateway.confirm(await gateway.claim(second, NOW));
    await gateway.close();
    const other = batcher();
    expect((await other.claim([...first, ...second], NOW)).verdicts).toEqual([
      'durable',
      'durable',
    ]);
    await other.close();
  });

  it('drops the oldest confirms above its limit and counts them', async () => {
    let reported = 0;
    const gateway = batcher({
      maxUnconfirmed: 3,
      confirmDelay: 60_000,
      onDroppedConfirms: (count) => (reported += count),
    });
    const claimed = await gateway.claim(ids(5), NOW);
    for (const position of claimed.ids.keys()) gateway.confirm(claimed, [position]);
    expect([gateway.counters.droppedConfirms, reported]).toEqual([2, 2]);
    const verdicts = (await gateway.claim(claimed.ids, NOW)).verdicts;
    expect(verdicts.filter((verdict) => verdict === 'durable')).toHaveLength(3);
    await gateway.close();
  });

  it('finds the same duplicates without pending claims', async () => {
    const gateway = batcher({ pendingTtl: 0 });
    const asked = ids(2);
    const claimed = await gateway.claim([...asked, ...asked], NOW);
    expect(claimed.verdicts).toEqual(['claimed', 'claimed', 'repeated', 'repeated']);
    expect((await gateway.claim(asked, NOW)).verdicts).toEqual(['claimed', 'claimed']);
    gateway.confirm(claimed);
    expect((await gateway.claim(asked, NOW)).verdicts).toEqual(['durable', 'durable']);
    await gateway.close();
  });
});

describe('two gateways', () => {
  it('both publish an event while its claim is pending, and see the duplicate once it is durable', async () => {
    const [one, two] = [batcher(), batcher()];
    const asked = ids(1);
    const first = await one.claim(asked, NOW);
    expect((await two.claim(asked, NOW)).verdicts).toEqual(['pending-elsewhere']);
    one.confirm(first);
    await one.close();
    expect((await two.claim(asked, NOW + TTL - 1)).verdicts).toEqual(['durable']);
    expect((await two.claim(asked, NOW + TTL)).verdicts).toEqual(['claimed']);
    await two.close();
  });

  it('release only their own claims', async () => {
    const [one, two] = [batcher(), batcher()];
    const asked = ids(1);
    const first = await one.claim(asked, NOW);
    const second = await two.claim(asked, NOW);
    await two.release(second);
    expect((await two.claim(asked, NOW)).verdicts).toEqual(['pending-elsewhere']);
    await one.release(first);
    expect((await two.claim(asked, NOW)).verdicts).toEqual(['claimed']);
    expect([one.counters.releases, two.counters.releases]).toEqual([1, 0]);
    await Promise.all([one.close(), two.close()]);
  });

  it('can claim an id again after the pending TTL when its gateway crashed', async () => {
    const gateway = batcher({ pendingTtl: 1_000 });
    const asked = ids(1);
    await gateway.claim(asked, NOW);
    expect((await gateway.claim(asked, NOW + 999)).verdicts).toEqual(['pending-elsewhere']);
    expect((await gateway.claim(asked, NOW + 1_000)).verdicts).toEqual(['claimed']);
    await gateway.close();
  });
});
