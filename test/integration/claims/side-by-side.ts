import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { ClaimToLoad } from '../../../events/claims/resolution.ts';
import { claimLayout } from '../../../platform/claims/claim-keys.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { GatewayClaims } from '../../../platform/claims/gateway-claims.ts';
import { ClaimModel } from './claim-model.ts';
import { clearPrefix, ownPrefix } from './redis-under-test.ts';

const START = Date.UTC(2026, 10, 21);
/** Few buckets, so that one sweep visits all of them. */
const BUCKETS = 3;
const never = new AbortController().signal;

export interface Tables {
  redis: Redis;
  prefix: string;
  shards: number;
  dedupeTtl: number;
  pendingTtl: number;
  firstPacks?: number;
  packAfter?: () => number;
}

/** The scripts on a real Redis and the reference model, which get the same operations. */
export abstract class SideBySide<Operation> {
  protected readonly model: ClaimModel;
  protected readonly gateway: GatewayClaims;
  protected readonly store: ClaimStore;
  protected now = START;
  readonly #redis: Redis;
  readonly #prefixes: readonly string[];

  constructor(tables: Tables) {
    this.#redis = tables.redis;
    this.#prefixes = claimLayout(tables).prefixes;
    this.model = new ClaimModel(tables);
    this.gateway = new GatewayClaims(tables);
    this.store = new ClaimStore(tables);
  }

  /** Runs one on both, and compares the results. */
  abstract step(operation: Operation): Promise<void>;

  /** What is compared after the last one. */
  end(): Promise<void> {
    return Promise.resolve();
  }

  /** As after a loss: the marker is gone, stored claims and packs remain. */
  async load(claims: readonly ClaimToLoad[]): Promise<void> {
    for (const prefix of this.#prefixes) await this.#redis.del(`${prefix}marker`);
    expect(await this.store.resolve([], never)).toEqual({ status: 'lost' });
    await this.store.ensureLoaded({
      partitions: () => ({ epoch: 0, owned: [0] }),
      backfill: (target) => target.load(claims),
      signal: never,
    });
    this.model.load(claims);
  }

  /** A whole sweep of each shard. */
  protected async sweep(until: number, stored?: ReadonlyMap<number, number>): Promise<void> {
    const progress = {
      ...{ epoch: 0, processed: [{ partition: 0, until }] },
      ...(stored && { stored }),
    };
    for (let shard = 0; shard < this.store.shards; shard += 1)
      await this.store.sweep({
        ...{ shard, now: this.now, visits: BUCKETS, partitions: 1, progress },
      });
  }

  /** Makes each table a small one, and loads nothing into it. */
  async begin(): Promise<void> {
    for (const prefix of this.#prefixes) await this.#redis.set(`${prefix}count`, BUCKETS);
    await this.load([]);
  }
}

/** No sequence of operations has different results in Redis and in the model. */
export async function expectSameResults<Operation>(
  operation: fc.Arbitrary<Operation>,
  {
    redis,
    shards,
    open,
  }: {
    redis: Redis;
    shards: number;
    /** On tables under a prefix of their own. */
    open: (prefix: string) => SideBySide<Operation>;
  },
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 60 }), async (operations) => {
      const prefix = ownPrefix();
      const both = open(prefix);
      try {
        await both.begin();
        for (const one of operations) await both.step(one);
        await both.end();
      } finally {
        await clearPrefix(redis, prefix);
      }
    }),
    { numRuns: shards === 1 ? 100 : 30 },
  );
}
