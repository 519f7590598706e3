import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClaimId } from '../../../events/claims/claim-id.ts';
import { samePosition } from '../../../events/claims/position-bytes.ts';
import type { ClaimOfEvent } from '../../../events/raw/record-claims.ts';
import { resolveFrom, type PackedClaim } from '../../../pipeline/normalise/resolve-from.ts';
import { BEFORE_FIRST } from '../../../schemas/log-position.ts';
import { claimCode } from '../../../events/claims/verdict.ts';
import { stackRedisUrl } from './redis-under-test.ts';
import { expectSameResults, SideBySide, type Tables } from './side-by-side.ts';

const TTL = 60_000;
/** Every event can be read again for so long; its claim is not swept before. */
const REREAD_MS = 600_000;
const never = new AbortController().signal;

/**
 * Ids whose entries differ in the first and the last byte, in two packs at most: between the ones
 * of two entries stands the entry of zeros, unless the search heeds where entries begin.
 */
const universe = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => {
  const of = (bit: number) => String.fromCharCode((bits >> bit) & 1);
  return `${of(0)}\0\0${of(2)}${'\0'.repeat(7)}${of(1)}` as ClaimId;
});
const id = fc.constantFrom(...universe);
const ago = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 20_000 }),
  fc.constantFrom(TTL - 1, TTL, TTL + 1, 2 * TTL),
);
const which = fc.nat({ max: 1000 });

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('accept' as const),
      events: fc.array(fc.record({ id, ago }), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read again' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('redrive' as const), which }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('pack' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('claim' as const), id }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('confirm' as const), id, ago }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('load' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(
        fc.integer({ min: 1, max: TTL }),
        fc.constantFrom(TTL / 16, TTL - 1, TTL, TTL + 1),
      ),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

describe('packed claims', () => {
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(stackRedisUrl());
  });
  afterAll(() => {
    redis.disconnect();
  });

  it.each([
    { shards: 1, pendingTtl: 0 },
    { shards: 1, pendingTtl: 30_000 },
    { shards: 3, pendingTtl: 0 },
  ])('change no answer: %o', async (of) => {
    await expectSameResults(operation, {
      ...{ redis, shards: of.shards },
      open: (prefix) => new WithPacks({ redis, prefix, ...of, dedupeTtl: TTL }),
    });
  });
});

/** Runs each operation on Redis with packs and on the model, which has none. */
class WithPacks extends SideBySide<Operation> {
  /** Of events.raw, one partition. */
  readonly #log: ClaimOfEvent[] = [];
  /** What is stored: every event that was not another's duplicate, at the last of its positions. */
  #rows: ClaimOfEvent[] = [];

  constructor(tables: Tables) {
    super({ ...tables, firstPacks: 2, packAfter: () => 0 });
  }

  async step(step: Operation): Promise<void> {
    switch (step.kind) {
      case 'accept': {
        const from = this.#log.length;
        for (const { id: of, ago: since } of step.events)
          this.#append({ id: of, receivedAt: this.now - since, acceptance: this.#log.length + 1 });
        return this.#resolve(this.#log.slice(from));
      }
      case 'repeat': {
        const event = this.#pick(step.which);
        if (event) await this.#resolve([this.#append(event)]);
        return;
      }
      case 'redrive': {
        const event = this.#pick(step.which);
        if (event) await this.#resolve([this.#append(event, event.position)]);
        return;
      }
      case 'read again': {
        const event = this.#pick(step.which);
        if (event) await this.#resolve([event]);
        return;
      }
      case 'pack': {
        await this.sweep(this.now - REREAD_MS, new Map([[0, this.#log.length]]));
        // No resolved claim is so old; others go when they have ended.
        this.model.sweep({ now: this.now, processed: 0, slack: 0 });
        return;
      }
      case 'claim': {
        const [code] = await this.gateway.claim({
          ...{ ids: [step.id], token: Buffer.alloc(8, 1), now: this.now },
        });
        const [expected] = this.model.claim([step.id], 1, this.now);
        // Which of a part have ended is not known: the normaliser decides.
        const [entry] = await this.store.peek([step.id]);
        const isUnknown = entry?.state === 'packed' && entry.since <= this.now;
        expect(code).toBe(isUnknown ? claimCode.expiredResolved : expected);
        return;
      }
      case 'confirm': {
        const receivedAt = this.now - step.ago;
        await this.gateway.confirm([{ ids: [step.id], expires: receivedAt + TTL }]);
        this.model.confirm([step.id], receivedAt);
        return;
      }
      case 'load':
        return this.load(
          this.#rows.map(({ id: of, position, acceptance, receivedAt }) => ({
            ...{ id: of, position, acceptance, receivedAt },
          })),
        );
      case 'wait':
        this.now += step.ms;
        return;
    }
  }

  #append(
    of: Pick<ClaimOfEvent, 'id' | 'receivedAt' | 'acceptance'>,
    redrivenFrom?: ClaimOfEvent['position'],
  ): ClaimOfEvent {
    const { id: same, receivedAt, acceptance } = of;
    const event: ClaimOfEvent = {
      ...{ id: same, receivedAt, acceptance, account: 1, kind: 'message', key: same },
      position: { epoch: 0, partition: 0, offset: this.#log.length, index: 0 },
      ...(redrivenFrom && { redrivenFrom }),
    };
    this.#log.push(event);
    return event;
  }

  #pick(at: number): ClaimOfEvent | undefined {
    const some = this.#log.filter(({ receivedAt }) => receivedAt > this.now - REREAD_MS);
    return some[at % Math.max(1, some.length)];
  }

  async #resolve(claims: readonly ClaimOfEvent[]): Promise<void> {
    const resolved = await resolveFrom(
      {
        resolve: (some, signal) => this.store.resolve(some, signal),
        held: (ids, signal) => this.store.held(ids, signal),
        stored: (asked) => Promise.resolve(asked.map((one) => this.#stored(one))),
      },
      { claims, published: BEFORE_FIRST },
      never,
    );
    const expected = this.model.resolve(claims);
    if (resolved.status !== 'resolved') throw new Error(resolved.status);
    expect(resolved.resolutions.map(({ verdict }) => verdict)).toEqual(
      expected.map(({ verdict }) => verdict),
    );
    for (const [at, claim] of claims.entries()) {
      if (expected[at]?.verdict !== 'first') continue;
      const from = claim.redrivenFrom;
      this.#rows = this.#rows.filter(
        ({ position }) =>
          !samePosition(position, claim.position) && !(from && samePosition(position, from)),
      );
      this.#rows.push(claim);
    }
  }

  #stored({ claim, since, until }: PackedClaim) {
    const [row] = this.#rows
      .filter(
        ({ id: same, receivedAt }) =>
          same === claim.id && receivedAt + TTL >= since && receivedAt + TTL <= until,
      )
      .sort((a, b) => b.receivedAt - a.receivedAt);
    return row ?? ('none' as const);
  }
}
