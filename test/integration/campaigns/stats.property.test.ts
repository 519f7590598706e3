import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  compilePeople,
  type PeopleRow,
} from '../../../management-api/campaigns/stats/compile-people.ts';
import { peopleModel } from '../../../management-api/campaigns/stats/testing/model.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { FULL } from '../../support/stack.ts';
import {
  eventColumns,
  isoTime,
  openTestDatabase,
  type TestDatabase,
} from '../../support/test-database.ts';
import { OWN, START, statsCase, type StatsCase } from './arbitraries.ts';

const DDL = [
  'projections/events/ddl/0001_events.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/messages/ddl/0060_messages.sql',
];
const CASES = FULL ? 400 : 120;

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('campaign_stats', { ddl: DDL, tables: [] });
});
afterAll(() => database.close());

function messageColumns(outcome: MessageOutcome, version: number): object {
  const { planned_at, finished_at } = outcome;
  return {
    ...{ ...outcome, version },
    ...{ planned_at: isoTime(planned_at), finished_at: isoTime(finished_at) },
  };
}

/** Each case under an account of its own. */
async function load(cases: readonly StatsCase[]): Promise<void> {
  const of = <Row extends object>(rows: (one: StatsCase) => readonly Row[]) =>
    cases.flatMap((one, at) => rows(one).map((row) => ({ ...row, account_id: at + 1 })));
  // Two inserts: ClickHouse itself replaces rows within one.
  for (const isFirst of [true, false])
    await database.insert(
      'messages',
      of(({ dataset: { outcomes } }) =>
        outcomes.flatMap((outcome, version) => {
          const before = outcomes.slice(0, version);
          const isAgain = before.some(({ message_id }) => message_id === outcome.message_id);
          return isAgain === isFirst ? [] : messageColumns(outcome, version);
        }),
      ),
    );
  await database.insert(
    'events',
    of(({ dataset }) => dataset.events.map(eventColumns)),
  );
  await database.insert(
    'identities_flat',
    of(({ dataset }) => [...dataset.canonical].map(([name, canonical]) => ({ name, canonical }))),
  );
  await database.insert(
    'message_opens',
    of(({ dataset }) =>
      dataset.lateOpens.map(({ message_id, at }) => ({
        ...{ message_id, campaign_id: Number(/\d+/.exec(message_id)?.[0]) },
        opened_by_person_at: isoTime(at),
      })),
    ),
  );
}

async function bySql(accountId: number, { runs, parts, dataset }: StatsCase): Promise<PeopleRow> {
  const merges = dataset.canonical.size > 0 ? 'table' : 'none';
  const of = { accountId, campaignId: OWN, runs, merges, now: START } as const;
  const rows: PeopleRow[] = [];
  for (let at = 0; at < parts; at++) {
    const { sql, params } = compilePeople({ ...of, part: { at, of: parts } });
    const answer = await database.client.query({
      ...{ query: sql, query_params: params, format: 'JSONEachRow' },
    });
    rows.push(...(await answer.json<PeopleRow>()));
  }
  return rows.reduce((total, row) => {
    const figures = Object.entries(row) as [keyof PeopleRow, number][];
    return Object.fromEntries(
      figures.map(([figure, value]) => [figure, total[figure] + value]),
    ) as unknown as PeopleRow;
  });
}

it('the SQL of stats and the reference agree about who opened, clicked and converted', async () => {
  const seed = Number(process.env['REPORT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const cases = fc.sample(statsCase, { numRuns: CASES, seed });
  await load(cases);
  const telling = {
    opened: 0,
    clicked: 0,
    converted: 0,
    treated_converted: 0,
    control_converted: 0,
  };
  for (const [at, one] of cases.entries()) {
    const expected = peopleModel(one.dataset, { campaignId: OWN, runs: one.runs });
    const found = await bySql(at + 1, one);
    if (!isDeepStrictEqual(found, expected))
      expect({ seed, at, one, found }).toEqual({ seed, at, one, found: expected });
    for (const figure of Object.keys(telling) as (keyof typeof telling)[])
      telling[figure] += Number(expected[figure] > 0);
  }
  for (const cases of Object.values(telling)) expect(cases).toBeGreaterThan(5);
}, 600_000);
