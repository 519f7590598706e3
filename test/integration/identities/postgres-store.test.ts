import fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import type { AliasFact } from '../../../projections/identities/alias-fact.ts';
import { applyAliases, applyDecision } from '../../../projections/identities/apply-aliases.ts';
import { postgresIdentities } from '../../../projections/identities/postgres-store.ts';
import { drawnDecisions } from '../../../projections/identities/testing/drawn-decisions.ts';
import { specifiedPeople } from '../../../projections/identities/testing/reference-merge.ts';
import type { IdentityStore } from '../../../projections/identities/store.ts';
import { readyStack } from '../../support/stack.ts';

const CASES = Number(process.env['IDENTITY_CASES'] ?? 25);

// Includes texts that need escaping in PostgreSQL's texts and arrays.
const distinctId = fc.constantFrom('a', 'b\\', 'c\u0000', '\\0', 'NULL', '"e"', '{f,g}', 'نام', '');
const facts: fc.Arbitrary<AliasFact[]> = fc
  .array(fc.tuple(distinctId, distinctId, fc.integer({ min: 0, max: 9 })), {
    maxLength: 14,
    size: 'max',
  })
  .map((drawn) =>
    drawn
      .filter(([previousId, userId]) => previousId !== userId)
      .map(([previousId, userId, receivedAt], offset) => ({
        previousId,
        userId,
        order: { receivedAt, epoch: 0, partition: 1, offset, index: 2 },
      })),
  );

describe('identities in PostgreSQL', () => {
  let database: Database;
  let store: IdentityStore;
  /** Above the ids that accounts of a test stack get. */
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
    const { rows } = await store.snapshot(accountId, all);
    return new Map(
      all
        .flatMap(({ previousId, userId }) => [previousId, userId])
        .map((id) => [id, rows.get(id)?.canonicalId ?? id]),
    );
  }

  it('are those of the specification when two workers apply the aliases in any order, with decisions of operators', async () => {
    const drawn = facts.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
        drawnDecisions(distinctId),
      ),
    );
    await fc.assert(
      fc.asyncProperty(drawn, async ([all, shuffled, decisions]) => {
        const accountId = account++;
        const half = Math.floor(shuffled.length / 2);
        // The halves overlap, as after a rebalance.
        await Promise.all([
          applyAliases(store, accountId, shuffled.slice(0, half + 2)),
          applyAliases(store, accountId, shuffled.slice(half)),
          ...decisions.map((decision) => applyDecision(store, accountId, decision)),
        ]);
        expect(await peopleOf(accountId, all)).toEqual(specifiedPeople(all, decisions));
      }),
      { numRuns: CASES },
    );
  });

  it('report a changed row as unpublished until it is marked as published', async () => {
    const accountId = account++;
    const fact = (previousId: string, userId: string, offset: number): AliasFact => ({
      previousId,
      userId,
      order: { receivedAt: 5, epoch: 0, partition: 0, offset, index: 0 },
    });
    await applyAliases(store, accountId, [fact('device', 'sara', 1)]);
    expect(await store.unpublishedAccounts()).toContain(accountId);
    const first = await store.unpublished(accountId);
    expect(first.rows.map(({ distinctId: id, canonicalId }) => [id, canonicalId]).sort()).toEqual([
      ['device', 'sara'],
      ['sara', 'sara'],
    ]);
    expect(await store.unpublished(accountId)).toEqual(first);
    await store.markPublished(accountId, first.upTo);
    expect((await store.unpublished(accountId)).rows).toEqual([]);
    expect(await store.unpublishedAccounts()).not.toContain(accountId);
    await applyAliases(store, accountId, [fact('sara', 'sara@x', 2)]);
    expect(
      (await store.unpublished(accountId)).rows
        .map(({ distinctId: id, canonicalId }) => [id, canonicalId])
        .sort(),
    ).toEqual([
      ['device', 'sara@x'],
      ['sara', 'sara@x'],
      ['sara@x', 'sara@x'],
    ]);
  });
});
