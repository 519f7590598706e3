import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { claimId, claimScope } from '../events/claims/claim-id.ts';
import type { ClaimId } from '../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../events/claims/resolution.ts';
import { ClaimBatcher } from '../platform/claims/claim-batcher.ts';
import { ClaimStore } from '../platform/claims/claim-store.ts';
import { OwnRedis } from '../test/integration/claims/redis-under-test.ts';
import { numericOptions } from './numbers.ts';

/**
 * node bench/claims.ts [--events 1000000]
 * Memory per event with both claims, and CPU of client and server, on a dedicated redis-server with
 * the settings of the stack (append-only file included).
 */
const { events, 'pending-ttl': pendingTtl } = numericOptions('claims', {
  events: 1_000_000,
  'pending-ttl': 30_000,
});

const DEDUPE_TTL = 48 * 3_600_000;
const ROUND = 40_000;
const BATCH = 100;
const never = new AbortController().signal;

interface Cost {
  events: number;
  wallMs: number;
  nodeMs: number;
  redisMs: number;
}

const server = await OwnRedis.start();
// No timeouts: on a busy machine Redis sometimes waits for the disk of its append-only file, which
// is not what this measures.
const redis = new Redis(server.url);
const batcher = new ClaimBatcher({
  redis,
  dedupeTtl: DEDUPE_TTL,
  pendingTtl,
  onUnavailable: fail,
});
const store = new ClaimStore({ redis, dedupeTtl: DEDUPE_TTL, onWaiting: fail });
await store.ensureLoaded({
  partitions: () => ({ epoch: 0, owned: [0] }),
  backfill: () => Promise.resolve(),
  signal: never,
});

const scope = claimScope(4_711, 'message');
const costs = new Map<string, Cost>();
try {
  await run();
  await batcher.close();
} finally {
  redis.disconnect();
  await server.stop();
}

async function run(): Promise<void> {
  const memoryBefore = await infoNumber(redis, 'memory', 'used_memory');
  let published = 0;
  for (let done = 0; done < events; done += ROUND) {
    const keys = Array.from({ length: Math.min(ROUND, events - done) }, () => randomUUID());
    const batches: ClaimId[][] = [];
    await measured('hash ids', keys.length, () => {
      for (let at = 0; at < keys.length; at += BATCH)
        batches.push(keys.slice(at, at + BATCH).map((key) => claimId(scope, key)));
    });
    const claimed = await measured(`claim, batches of ${BATCH}`, keys.length, () =>
      concurrently(batches, 8, (ids) => batcher.claim(ids, Date.now())),
    );
    if (claimed.some(({ verdicts }) => verdicts.some((verdict) => verdict !== 'claimed')))
      throw new Error('a new id was not claimed');
    await measured('confirm', keys.length, async () => {
      for (const each of claimed) batcher.confirm(each);
      while (batcher.counters.confirms < published + keys.length)
        await new Promise((r) => setTimeout(r, 1));
    });
    await measured('resolve, 1,000 a call', keys.length, async () => {
      const entries = batches.flat().map((id, number): ClaimToResolve => {
        const at = published + number;
        const position = {
          epoch: 0,
          partition: at % 4,
          offset: Math.floor(at / 50),
          index: at % 50,
        };
        return { id, position, acceptance: (at + 1) >>> 0, receivedAt: Date.now() };
      });
      const resolved = await store.resolve(entries, never);
      if (
        resolved.status !== 'resolved' ||
        resolved.resolutions.some(({ verdict }) => verdict !== 'first')
      )
        throw new Error('a new id was not resolved as first');
    });
    published += keys.length;
    if (done % 1_000_000 === 0) console.log(await bytesLine(memoryBefore, published));
  }
  console.log(await bytesLine(memoryBefore, published));
  const again = Array.from({ length: Math.min(events, 100_000) }, () =>
    claimId(scope, randomUUID()),
  );
  await measured('claim, singles, 64 at a time', again.length, () =>
    concurrently(again, 64, (id) => batcher.claim([id], Date.now())),
  );
  await plainKeys(Math.min(events, 200_000));
  console.table(Object.fromEntries([...costs].map(([name, cost]) => [name, perThousand(cost)])));
}

/**
 * Baseline: the same claims as plain keys with a TTL. SET NX PX before the publish, SET PX after
 * it, and one more SET for the position.
 */
async function plainKeys(count: number): Promise<void> {
  const before = await infoNumber(redis, 'memory', 'used_memory');
  const keys = Array.from({ length: count }, () => `claim:${randomUUID()}`);
  const batches = Array.from({ length: Math.ceil(count / BATCH) }, (_, at) =>
    keys.slice(at * BATCH, (at + 1) * BATCH),
  );
  const pipelined = (
    name: string,
    set: (line: ReturnType<Redis['pipeline']>, key: string) => unknown,
  ) =>
    measured(`plain keys: ${name}`, count, () =>
      concurrently(batches, 8, (batch) => {
        const line = redis.pipeline();
        for (const key of batch) set(line, key);
        return line.exec();
      }),
    );
  await pipelined('claim', (line, key) => line.set(key, 'p:0123456789abcdef', 'PX', 30_000, 'NX'));
  await pipelined('confirm', (line, key) => line.set(key, 'd', 'PX', DEDUPE_TTL));
  await pipelined('resolve', (line, key) =>
    line.set(key, '0:3:90000000:99:1234', 'PX', DEDUPE_TTL, 'GET'),
  );
  const used = (await infoNumber(redis, 'memory', 'used_memory')) - before;
  console.log(`plain keys: ${(used / count).toFixed(1)} B per event`);
}

async function measured<T>(name: string, count: number, work: () => T | Promise<T>): Promise<T> {
  const redisBefore = await redisCpu(redis);
  const nodeBefore = process.cpuUsage();
  const began = performance.now();
  const result = await work();
  const wallMs = performance.now() - began;
  const node = process.cpuUsage(nodeBefore);
  const cost = costs.get(name) ?? { events: 0, wallMs: 0, nodeMs: 0, redisMs: 0 };
  costs.set(name, {
    events: cost.events + count,
    wallMs: cost.wallMs + wallMs,
    nodeMs: cost.nodeMs + (node.user + node.system) / 1_000,
    redisMs: cost.redisMs + (await redisCpu(redis)) - redisBefore,
  });
  return result;
}

function perThousand(cost: Cost): Record<string, string> {
  const each = (ms: number): string => ((ms / cost.events) * 1_000).toFixed(2);
  return {
    'events/s': Math.round((cost.events / cost.wallMs) * 1_000).toLocaleString('en'),
    'Node CPU ms/1,000': each(cost.nodeMs),
    'Redis CPU ms/1,000': each(cost.redisMs),
  };
}

/** Runs `width` calls concurrently. */
async function concurrently<A, B>(
  items: readonly A[],
  width: number,
  work: (item: A) => Promise<B>,
): Promise<B[]> {
  const results = new Array<B>(items.length);
  const numbered = items.entries();
  const worker = async (): Promise<void> => {
    for (const [number, item] of numbered) results[number] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

async function bytesLine(before: number, count: number): Promise<string> {
  const used = (await infoNumber(redis, 'memory', 'used_memory')) - before;
  return `${count.toLocaleString('en')} events, both claims: ${(used / count).toFixed(1)} B per event in ${await redis.dbsize()} keys`;
}

/** CPU of the thread that runs commands and scripts, ms. */
async function redisCpu(from: Redis): Promise<number> {
  const user = await infoNumber(from, 'cpu', 'used_cpu_user_main_thread');
  return (user + (await infoNumber(from, 'cpu', 'used_cpu_sys_main_thread'))) * 1_000;
}

async function infoNumber(from: Redis, section: string, field: string): Promise<number> {
  const found = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await from.info(section))?.[1];
  if (found === undefined) throw new Error(`Redis does not report ${field}`);
  return Number(found);
}

function fail(error: Error): never {
  throw error;
}
