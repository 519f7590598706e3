import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimId } from '../../../events/claims/claim-id.ts';
import type { ClaimEntry } from '../../../events/claims/entry.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { sweepSlack } from '../../../events/claims/sweep.ts';
import { claimLayout } from '../../../platform/claims/claim-keys.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { GatewayClaims } from '../../../platform/claims/gateway-claims.ts';
import { ClaimModel } from './claim-model.ts';
import { clearPrefix, ownPrefix, stackRedisUrl } from './redis-under-test.ts';

const START = Date.UTC(2026, 10, 21);
const PENDING_TTL = 30_000;
const SLACK = sweepSlack(5_000);
/** Few buckets, so that one sweep visits all of them. */
const BUCKETS = 3;
const never = new AbortController().signal;

const scope = claimScope(7, 'message');
const universe = Array.from({ length: 6 }, (_, number) => claimId(scope, `event ${number}`));
const id = fc.constantFrom(...universe);
const ids = fc.array(id, { maxLength: 8 });
const token = fc.integer({ min: 1, max: 3 });
// Few positions and acceptances, so that they collide; large offsets, so that they take many bytes.
const position = fc.record({
  epoch: fc.constantFrom(0, 1),
  partition: fc.constantFrom(0, 3),
  offset: fc.constantFrom(0, 127, 128, 2 ** 40),
  index: fc.constantFrom(0, 499),
});
const acceptance = fc.constantFrom(0, 1, 0xffffffff);
/** How long before `now` an event was received: mostly just now, sometimes around the window. */
const ago = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 20_000 }),
  fc.constantFrom(4_999, 5_000, 5_001),
);
const entry = fc.record({
  id,
  position,
  acceptance,
  ago,
  from: fc.option(position, { nil: null }),
});

const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('claim' as const), ids, token }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('confirm' as const), ids, ago }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), ids, token }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('resolve' as const),
      entries: fc.array(entry, { maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('backfill' as const),
      entries: fc.array(entry, { maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('sweep' as const),
      behind: fc.constantFrom(0, 1_000, SLACK, 10 * SLACK),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(
        fc.integer({ min: 1, max: 6_000 }),
        fc.constantFrom(4_999, 5_000, PENDING_TTL - 1, PENDING_TTL, SLACK, 2 * SLACK),
      ),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

describe('the scripts on a real Redis behave like the model', () => {
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(stackRedisUrl());
  });
  afterAll(() => {
    redis.disconnect();
  });

  it.each([
    { dedupeTtl: 5_000, pendingTtl: PENDING_TTL },
    { dedupeTtl: 48 * 3_600_000, pendingTtl: PENDING_TTL },
    { dedupeTtl: 5_000, pendingTtl: 0 },
    { dedupeTtl: 5_000, pendingTtl: PENDING_TTL, shards: 3 },
  ])('with %o', async (of) => {
    const options = { shards: 1, ...of };
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 10, maxLength: 60 }),
        async (operations) => {
          const prefix = ownPrefix();
          const run = new SideBySide({ redis, prefix, ...options });
          try {
            for (const shard of claimLayout({ redis, prefix, ...options }).prefixes)
              await redis.set(`${shard}count`, BUCKETS);
            await run.backfill([]);
            for (const step of operations) await run.step(step);
            await run.compareStored();
          } finally {
            await clearPrefix(redis, prefix);
          }
        },
      ),
      { numRuns: options.shards === 1 ? 100 : 30 },
    );
  });
});

/** Runs each operation on both and compares the results. */
class SideBySide {
  readonly #redis: Redis;
  readonly #prefixes: readonly string[];
  readonly #model: ClaimModel;
  readonly #gateway: GatewayClaims;
  readonly #store: ClaimStore;
  readonly #dedupeTtl: number;
  #now = START;

  constructor(options: {
    readonly redis: Redis;
    readonly prefix: string;
    readonly shards: number;
    readonly dedupeTtl: number;
    readonly pendingTtl: number;
  }) {
    this.#redis = options.redis;
    this.#prefixes = claimLayout(options).prefixes;
    this.#dedupeTtl = options.dedupeTtl;
    this.#model = new ClaimModel(options);
    this.#gateway = new GatewayClaims(options);
    this.#store = new ClaimStore(options);
  }

  async step(step: Operation): Promise<void> {
    switch (step.kind) {
      case 'claim': {
        const codes = await this.#gateway.claim({
          ids: step.ids,
          token: tokenBytes(step.token),
          now: this.#now,
        });
        expect([...codes]).toEqual(this.#model.claim(step.ids, step.token, this.#now));
        return;
      }
      case 'confirm': {
        const receivedAt = this.#now - step.ago;
        await this.#gateway.confirm([{ ids: step.ids, expires: receivedAt + this.#dedupeTtl }]);
        this.#model.confirm(step.ids, receivedAt);
        return;
      }
      case 'release':
        expect(await this.#gateway.release(step.ids, tokenBytes(step.token))).toBe(
          this.#model.release(step.ids, step.token),
        );
        return;
      case 'resolve': {
        const entries = step.entries.map(({ ago: since, from, ...rest }): ClaimToResolve => ({
          ...rest,
          receivedAt: this.#now - since,
          ...(from && { redrivenFrom: from }),
        }));
        const resolved = await this.#store.resolve(entries, never);
        expect(resolved).toEqual({ status: 'resolved', resolutions: this.#model.resolve(entries) });
        return;
      }
      case 'backfill':
        await this.backfill(
          step.entries.map(({ ago: since, id: of, position, acceptance: how }) => ({
            id: of,
            position,
            acceptance: how,
            receivedAt: this.#now - since,
          })),
        );
        return;
      case 'sweep': {
        const processed = this.#now - step.behind;
        const progress = { epoch: 0, processed: [{ partition: 0, until: processed }] };
        for (let shard = 0; shard < this.#store.shards; shard += 1)
          await this.#store.sweep({
            ...{ shard, now: this.#now, visits: BUCKETS, partitions: 1, progress },
          });
        this.#model.sweep({ now: this.#now, processed, slack: sweepSlack(this.#dedupeTtl) });
        await this.compareStored();
        return;
      }
      case 'wait':
        this.#now += step.ms;
        return;
    }
  }

  /** As after a loss: the marker is gone, stored claims remain. */
  async backfill(claims: readonly ClaimToResolve[]): Promise<void> {
    for (const prefix of this.#prefixes) await this.#redis.del(`${prefix}marker`);
    expect(await this.#store.resolve([], never)).toEqual({ status: 'lost' });
    await this.#store.ensureLoaded({
      partitions: () => ({ epoch: 0, owned: [0] }),
      backfill: (target) => target.load(claims),
      signal: never,
    });
    this.#model.load(claims);
  }

  async compareStored(): Promise<void> {
    const stored = await this.#store.peek(universe);
    expect(stored.map(readable)).toEqual(
      universe.map((each: ClaimId) => this.#model.held.get(each) ?? null),
    );
  }
}

function tokenBytes(number: number): Buffer {
  return Buffer.alloc(8, number);
}

function readable(entry: ClaimEntry | null): unknown {
  return entry?.state === 'pending' ? { ...entry, token: entry.token[0] } : entry;
}
