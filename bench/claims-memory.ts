import { randomFillSync } from 'node:crypto';
import { Redis } from 'ioredis';
import { parseLine } from '../cli/arguments.ts';
import type { ClaimId } from '../events/claims/claim-id.ts';
import type { ClaimAnswer, ClaimToResolve } from '../events/claims/resolution.ts';
import { bucketKey } from '../events/claims/bucket.ts';
import { toClaimTime } from '../events/claims/claim-time.ts';
import { PACKED_ID_BYTES, PACK_LIMIT, PART_HEADER_BYTES } from '../platform/claims/packs.ts';
import { ClaimStore } from '../platform/claims/claim-store.ts';
import { OwnRedis } from '../test/integration/claims/redis-under-test.ts';
import { numberOf } from './numbers.ts';

/**
 * node bench/claims-memory.ts [--ids 10000000] [--window 48] [--direct]
 * Memory of claims in packs, as the normaliser writes them (docs/deduplication.md): a window of
 * `ids` claims is resolved in 16 steps of its time, and after each one round of the sweep packs
 * what is stored. On a redis-server of its own without append-only file. Also what resolving costs
 * Redis for ids that are new, and for ids that are packed. With --direct the packs are written as
 * the sweep would leave them, without claims before them: much faster, for many ids.
 */
const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench claims-memory -- [--ids N] [--window HOURS] [--direct]',
  options: {
    ids: { type: 'string', default: '10000000' },
    window: { type: 'string', default: '48' },
    direct: { type: 'boolean' },
  },
});
const total = numberOf(values, 'ids');
const dedupeTtl = numberOf(values, 'window') * 3_600_000;

/** As many as a window has parts. */
const STEPS = 16;
const FIRST_PACKS = 65_536;
const BATCH = 10_000;
const LOOK_UPS = 100_000;
const VISITS = 1024;
const IN_FLIGHT = 4;
const never = new AbortController().signal;
const START = Date.now() - dedupeTtl;

const server = await OwnRedis.start();
// A script may wait for the disk longer than a client would.
const redis = new Redis(server.url);
const store = new ClaimStore({
  ...{ redis, dedupeTtl, packAfter: () => 0 },
  onWaiting: (error) => {
    throw error;
  },
});
const packed: ClaimToResolve[] = [];
let resolved = 0;
try {
  await redis.config('SET', 'appendonly', 'no');
  await store.ensureLoaded({
    partitions: () => ({ epoch: 0, owned: [0] }),
    backfill: () => Promise.resolve(),
    signal: never,
  });
  const before = await info('memory', 'used_memory');
  if (values.direct === true) await writePacks();
  for (let step = 0; step < STEPS && values.direct !== true; step += 1) {
    const until = Math.round((total * (step + 1)) / STEPS);
    while (resolved < until) await resolve(claimsOf(Math.min(BATCH, until - resolved)), 'first');
    await packAll(resolved);
    console.error(`${resolved} ids, ${((await used(before)) / resolved).toFixed(2)} bytes each`);
  }
  const memory = await used(before);
  const [ids, packs] = [resolved, Number((await redis.get('{clm}:pack-count')) ?? FIRST_PACKS)];
  const costs = {
    new: await cost(news),
    ...(values.direct === true ? {} : { packed: await cost(again) }),
  };
  console.log(
    JSON.stringify({
      ...{ ids, packs, used_memory: memory },
      bytes_per_id: Number((memory / ids).toFixed(2)),
      resolve_ms_per_1000: costs,
    }),
  );
} finally {
  redis.disconnect();
  await server.stop();
}

function claimsOf(count: number): ClaimToResolve[] {
  const bytes = randomFillSync(Buffer.allocUnsafe(12 * count)).toString('latin1');
  return Array.from({ length: count }, (_, at) => {
    const offset = resolved + at;
    const claim: ClaimToResolve = {
      id: bytes.slice(12 * at, 12 * at + 12) as ClaimId,
      position: { epoch: 0, partition: 0, offset, index: 0 },
      acceptance: (offset % 0xffffffff) + 1,
      receivedAt: START + Math.floor((offset / total) * dedupeTtl),
    };
    if (packed.length < LOOK_UPS && Math.random() < (2 * LOOK_UPS) / total) packed.push(claim);
    return claim;
  });
}

async function resolve(claims: readonly ClaimToResolve[], expected: ClaimAnswer['verdict']) {
  const answer = await store.resolve(claims, never);
  if (answer.status !== 'resolved') throw new Error('Redis lost the claims');
  if (answer.resolutions.some(({ verdict }) => verdict !== expected))
    throw new Error(`an id was not resolved as ${expected}`);
  resolved += expected === 'first' ? claims.length : 0;
}

/** As many packs as there would be: one splits above the limit, and the table with it. */
async function writePacks(): Promise<void> {
  const packs = Math.max(FIRST_PACKS, Math.ceil(total / (0.7 * PACK_LIMIT)));
  await redis.set('{clm}:pack-count', packs);
  // A pack that is split already has half of the ids of one that is not.
  const round = 2 ** Math.floor(Math.log2(packs));
  const each = total / (2 * round);
  let line = redis.pipeline();
  for (let pack = 0; pack < packs; pack += 1) {
    const isSplit = pack < packs - round || pack >= round;
    line.set(bucketKey('{clm}:p', pack), packOf((isSplit ? 1 : 2) * each));
    if (pack % 200 < 199 && pack < packs - 1) continue;
    await line.exec();
    line = redis.pipeline();
  }
}

/** A pack of about `mean` random entries, in a part for each step. */
function packOf(mean: number): Buffer {
  const parts = Array.from({ length: STEPS }, (_, step) => {
    const count = poisson(mean / STEPS);
    resolved += count;
    if (count === 0) return Buffer.of();
    const part = randomFillSync(Buffer.allocUnsafe(PART_HEADER_BYTES + count * PACKED_ID_BYTES));
    const ends = (at: number) => toClaimTime(START + ((step + at) / STEPS + 1) * dedupeTtl);
    part.writeUIntBE(ends(0.1), 0, 5);
    part.writeUIntBE(ends(0.9), 5, 5);
    part.writeUInt16BE(count, 10);
    return part;
  });
  return Buffer.concat(parts);
}

function poisson(mean: number): number {
  // Sums of small ones, of which e^-mean does not vanish.
  if (mean > 30) return poisson(30) + poisson(mean - 30);
  let count = -1;
  for (let product = 1; product > Math.exp(-mean); product *= Math.random()) count += 1;
  return count;
}

/** One round of the sweep over all buckets. */
async function packAll(stored: number): Promise<void> {
  const progress = { epoch: 0, processed: [], stored: new Map([[0, stored]]) };
  const [now, partitions, visits] = [Date.now(), 1, VISITS];
  const sweep = () => store.sweep({ shard: 0, now, visits, partitions, progress });
  const { buckets } = await sweep();
  for (let visited = VISITS; visited < buckets; visited += VISITS * IN_FLIGHT)
    await Promise.all(Array.from({ length: IN_FLIGHT }, sweep));
}

async function news(): Promise<number> {
  for (let done = 0; done < LOOK_UPS; done += BATCH) await resolve(claimsOf(BATCH), 'first');
  return LOOK_UPS;
}

/** Sent again an hour later: within the window, and at no time of its part. */
async function again(): Promise<number> {
  const sent = packed
    .filter(({ receivedAt }) => receivedAt < START + dedupeTtl / 2)
    .map((claim, at): ClaimToResolve => ({
      ...{ ...claim, acceptance: 0, receivedAt: claim.receivedAt + dedupeTtl / 4 },
      position: { ...claim.position, offset: resolved + at },
    }));
  await resolve(sent, 'duplicate');
  return sent.length;
}

async function cost(work: () => Promise<number>): Promise<number> {
  const cpu = await info('cpu', 'used_cpu_user_main_thread');
  const count = await work();
  const ms = ((await info('cpu', 'used_cpu_user_main_thread')) - cpu) * 1000;
  return Number(((ms / count) * 1000).toFixed(2));
}

async function used(before: number): Promise<number> {
  return (await info('memory', 'used_memory')) - before;
}

async function info(section: string, field: string): Promise<number> {
  const value = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.info(section))?.[1];
  if (value === undefined) throw new Error(`Redis does not report ${field}`);
  return Number(value);
}
