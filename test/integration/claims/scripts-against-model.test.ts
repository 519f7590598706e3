import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import type { ClaimId } from '../../../events/claims/claim-id.ts';
import type { ClaimEntry } from '../../../events/claims/entry.ts';
import type { ClaimToResolve } from '../../../events/claims/resolution.ts';
import { sweepSlack } from '../../../events/claims/sweep.ts';
import { stackRedisUrl } from './redis-under-test.ts';
import { expectSameResults, SideBySide, type Tables } from './side-by-side.ts';

const PENDING_TTL = 30_000;
const SLACK = sweepSlack(5_000);
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
    await expectSameResults(operation, {
      ...{ redis, shards: options.shards },
      open: (prefix) => new WithoutPacks({ redis, prefix, ...options }),
    });
  });
});

/** Runs each operation on both and compares the results. */
class WithoutPacks extends SideBySide<Operation> {
  readonly #dedupeTtl: number;

  constructor(tables: Tables) {
    super(tables);
    this.#dedupeTtl = tables.dedupeTtl;
  }

  async step(step: Operation): Promise<void> {
    switch (step.kind) {
      case 'claim': {
        const codes = await this.gateway.claim({
          ids: step.ids,
          token: tokenBytes(step.token),
          now: this.now,
        });
        expect([...codes]).toEqual(this.model.claim(step.ids, step.token, this.now));
        return;
      }
      case 'confirm': {
        const receivedAt = this.now - step.ago;
        await this.gateway.confirm([{ ids: step.ids, expires: receivedAt + this.#dedupeTtl }]);
        this.model.confirm(step.ids, receivedAt);
        return;
      }
      case 'release':
        expect(await this.gateway.release(step.ids, tokenBytes(step.token))).toBe(
          this.model.release(step.ids, step.token),
        );
        return;
      case 'resolve': {
        const entries = step.entries.map(({ ago: since, from, ...rest }): ClaimToResolve => ({
          ...rest,
          receivedAt: this.now - since,
          ...(from && { redrivenFrom: from }),
        }));
        const resolved = await this.store.resolve(entries, never);
        expect(resolved).toEqual({ status: 'resolved', resolutions: this.model.resolve(entries) });
        return;
      }
      case 'backfill':
        await this.load(
          step.entries.map(({ ago: since, id: of, position, acceptance: how }) => ({
            id: of,
            position,
            acceptance: how,
            receivedAt: this.now - since,
          })),
        );
        return;
      case 'sweep': {
        const processed = this.now - step.behind;
        await this.sweep(processed);
        this.model.sweep({ now: this.now, processed, slack: sweepSlack(this.#dedupeTtl) });
        await this.compareStored();
        return;
      }
      case 'wait':
        this.now += step.ms;
        return;
    }
  }

  override async end(): Promise<void> {
    await this.compareStored();
  }

  async compareStored(): Promise<void> {
    const stored = await this.store.peek(universe);
    expect(stored.map(readable)).toEqual(
      universe.map((each: ClaimId) => this.model.held.get(each) ?? null),
    );
  }
}

function tokenBytes(number: number): Buffer {
  return Buffer.alloc(8, number);
}

function readable(entry: ClaimEntry | null): unknown {
  return entry?.state === 'pending' ? { ...entry, token: entry.token[0] } : entry;
}
