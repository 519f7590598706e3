import fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import type { AliasFact } from '../../../projections/identities/alias-fact.ts';
import { joinFacts, undoAlias } from '../../../projections/identities/join.ts';
import { postgresIdentities } from '../../../projections/identities/postgres-store.ts';
import { specifiedPeople } from '../../../projections/identities/testing/reference-identities.ts';
import type { IdentityStore } from '../../../projections/identities/store.ts';
import { readyStack } from '../../support/stack.ts';

const CASES = Number(process.env['IDENTITY_CASES'] ?? 25);

// Names that PostgreSQL's texts and arrays could stumble over are among them.
const name = fc.constantFrom('a', 'b\\', 'c\u0000', '\\0', 'NULL', '"e"', '{f,g}', 'نام', '');
const facts: fc.Arbitrary<AliasFact[]> = fc
  .array(fc.tuple(name, name, fc.integer({ min: 0, max: 9 })), { maxLength: 14, size: 'max' })
  .map((drawn) =>
    drawn
      .filter(([previousId, userId]) => previousId !== userId)
      .map(([previousId, userId, receivedAt], offset) => ({
        previousId,
        userId,
        at: { receivedAt, epoch: 0, partition: 1, offset, index: 2 },
      })),
  );

describe('identities in PostgreSQL', () => {
  let database: Database;
  let store: IdentityStore;
  /** Beyond the ids that accounts of a test stack get. */
  let account = 1_000_000_000 + Math.floor(Math.random() * 1e9);
  beforeAll(() => {
    database = connectPostgres({
      url: readyStack().database_url,
      log: pino({ level: 'silent' }),
      name: 'identities-test',
      max: 4,
    });
    store = postgresIdentities(database);
  });
  afterAll(() => database.end());

  async function peopleOf(
    accountId: number,
    all: readonly AliasFact[],
  ): Promise<Map<string, string>> {
    const { rows } = await store.look(accountId, all);
    return new Map(
      all
        .flatMap(({ previousId, userId }) => [previousId, userId])
        .map((one) => [one, rows.get(one)?.canonical ?? one]),
    );
  }

  it('are what their specification says, read in any order by two workers at once, with an undo', async () => {
    const drawn = facts.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
        fc.record({ previousId: name, until: fc.nat(9) }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(drawn, async ([all, shuffled, undo]) => {
        const accountId = account++;
        const half = Math.floor(shuffled.length / 2);
        // The two halves overlap, as after a rebalance.
        await Promise.all([
          joinFacts(store, accountId, shuffled.slice(0, half + 2)),
          joinFacts(store, accountId, shuffled.slice(half)),
          undoAlias(store, accountId, undo),
        ]);
        expect(await peopleOf(accountId, all)).toEqual(specifiedPeople(all, [undo]));
      }),
      { numRuns: CASES },
    );
  });

  it('hands every changed row to ClickHouse until it is told that it is there', async () => {
    const accountId = account++;
    const fact = (previousId: string, userId: string, offset: number): AliasFact => ({
      previousId,
      userId,
      at: { receivedAt: 5, epoch: 0, partition: 0, offset, index: 0 },
    });
    await joinFacts(store, accountId, [fact('device', 'sara', 1)]);
    expect(await store.accountsToPublish()).toContain(accountId);
    const first = await store.unpublished(accountId);
    expect(first.rows.map(({ name: one, canonical }) => [one, canonical]).sort()).toEqual([
      ['device', 'sara'],
      ['sara', 'sara'],
    ]);
    expect(await store.unpublished(accountId)).toEqual(first);
    await store.published(accountId, first.upTo);
    expect((await store.unpublished(accountId)).rows).toEqual([]);
    expect(await store.accountsToPublish()).not.toContain(accountId);
    await joinFacts(store, accountId, [fact('sara', 'sara@x', 2)]);
    expect(
      (await store.unpublished(accountId)).rows
        .map(({ name: one, canonical }) => [one, canonical])
        .sort(),
    ).toEqual([
      ['device', 'sara@x'],
      ['sara', 'sara@x'],
      ['sara@x', 'sara@x'],
    ]);
  });
});
