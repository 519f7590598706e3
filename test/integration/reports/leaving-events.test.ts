/**
 * Time alone takes events out of the windows of audiences, and out of the table after 400 days:
 * when a kept answer looks for them.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { audienceCounter } from '../../../account-api/audiences/count.ts';
import { cachedRows } from '../../../account-api/reports/cache/cached-rows.ts';
import { AHEAD_MS } from '../../../account-api/reports/cache/data-state.ts';
import { KeptAnswers } from '../../../account-api/reports/cache/kept-answers.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import { readReport, reportsOver, type RowsOf } from '../../../account-api/reports/run.ts';
import { mergesOf } from '../../../audiences/people-sql.ts';
import { readAudience } from '../../../audiences/read.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { createLog } from '../../../platform/log.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { eventually } from '../../support/stack.ts';
import { eventColumns, openTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { storedEvent } from './arbitraries.ts';

const DDL = [
  ...EVENTS_DDL,
  'projections/profiles/ddl/0003_profiles.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/profiles/ddl/0005_people.sql',
];
const DAY = 86_400_000;
/** In the middle of a day in Tehran. */
const NOW = Date.UTC(2026, 7, 20, 8);
const WINDOWS = { a: 20, b: 30 };
const signal = () => AbortSignal.timeout(60_000);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('leaving_events', { ddl: DDL, tables: [] });
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['events', 'profiles'])
    await database.client.command({ query: `TRUNCATE TABLE ${table}` });
  await database.insert(
    'profiles',
    ['u', 'v', 'w'].map((name, at) => ({
      ...{ account_id: 1, name, user_id: name, event_count: at + 1 },
      ...{ first_seen: NOW - 40 * DAY, last_seen: NOW },
    })),
  );
});

/** An event of which `ms` after NOW is the last moment in the window of its name. */
async function leaves(event: keyof typeof WINDOWS, user: string, ms: number): Promise<void> {
  const timestamp = NOW - WINDOWS[event] * DAY + ms;
  const row = storedEvent({ event, user_id: user, timestamp, received_at: timestamp });
  await database.insert('events', [{ ...eventColumns(row), account_id: 1 }]);
}

function openCounter() {
  const asked = { runs: 0, looks: 0 };
  const cached = cachedRows({
    kept: new KeptAnswers({ answer: 1e6, perAccount: 1e6, total: 1e6, maxAgeMs: 1e9 }, Date.now),
    readFew: ({ sql, params }, turn) => {
      if (sql.includes('leaving')) asked.looks++;
      return readRows({ client: database.client, sql, params, signal: turn.signal });
    },
    ...{ log: createLog({ part: 'test', level: 'silent' }), now: () => NOW },
  });
  const fresh: RowsOf = (statement) => readReport(database.client, statement);
  const rowsOf: RowsOf = ({ reads, ...statement }) =>
    cached({ ...statement, reads: reads ?? fail() }, () => {
      asked.runs++;
      return readReport(database.client, statement);
    });
  const read = readAudience({
    any: Object.entries(WINDOWS).map(([event, days]) => ({
      ...{ event, did: true, within_days: days },
    })),
  });
  const audience = read.ok ? read.audience.root : fail();
  /** The count `ms` after NOW, which must be a fresh one's, with what was asked for until then. */
  return async (ms: number) => {
    const query = { accountId: 1, audience, now: NOW + ms, signal: signal() };
    const merges = mergesOf(database.client);
    const count = await audienceCounter({ rowsOf, mergesOf: merges })(query);
    expect(count).toBe(await audienceCounter({ rowsOf: fresh, mergesOf: merges })(query));
    return { count, ...asked };
  };
}

function fail(): never {
  throw new Error('a count of this audience can be kept');
}

it('nobody looks for events that leave until the first one does, or some minutes ahead', async () => {
  await leaves('a', 'u', 60_000);
  await leaves('b', 'v', 20 * 60_000);
  const countAt = openCounter();
  expect(await countAt(0)).toEqual({ count: 2, runs: 1, looks: 0 });
  expect(await countAt(1)).toEqual({ count: 2, runs: 1, looks: 1 });
  expect(await countAt(60_000)).toEqual({ count: 2, runs: 1, looks: 1 });
  expect(await countAt(60_001)).toEqual({ count: 1, runs: 2, looks: 2 });
  expect(await countAt(60_002)).toEqual({ count: 1, runs: 2, looks: 3 });
  expect(await countAt(60_002 + AHEAD_MS)).toEqual({ count: 1, runs: 2, looks: 3 });
  expect(await countAt(60_003 + AHEAD_MS)).toEqual({ count: 1, runs: 2, looks: 4 });
  // a moment before the one that was looked ahead from
  expect(await countAt(60_000)).toEqual({ count: 2, runs: 3, looks: 5 });
});

it('an event that comes late, and leaves within the minutes looked ahead, is seen to leave', async () => {
  await leaves('a', 'u', 20 * 60_000);
  const countAt = openCounter();
  await countAt(0);
  expect(await countAt(1)).toEqual({ count: 1, runs: 1, looks: 1 });
  await leaves('b', 'v', 60_000);
  expect(await countAt(2)).toEqual({ count: 2, runs: 2, looks: 1 });
  expect(await countAt(60_000)).toMatchObject({ count: 2, runs: 2 });
  expect(await countAt(60_001)).toMatchObject({ count: 1, runs: 3 });
});

it('of one person the event that leaves last decides', async () => {
  await leaves('a', 'u', 10_000);
  await leaves('b', 'u', 30_000);
  const countAt = openCounter();
  for (const [ms, count] of [
    ...[[0, 1] as const, [1, 1] as const, [10_000, 1] as const, [10_001, 1] as const],
    ...[[30_000, 1] as const, [30_001, 0] as const, [10_000, 1] as const],
  ])
    expect(await countAt(ms)).toMatchObject({ count });
});

it(
  'of an event that comes late and is about to expire no answer is kept',
  { timeout: 120_000 },
  async () => {
    const expiresAt = Date.now() + 8000;
    const insert = (event: string, timestamp: number) =>
      database.insert('events', [
        {
          ...eventColumns(storedEvent({ event, user_id: 'u', timestamp, received_at: timestamp })),
          account_id: 1,
        },
      ]);
    await database.client.command({ query: 'SYSTEM STOP TTL MERGES events' });
    await insert('a', Date.now() - 30 * DAY);
    const day = (ago: number) => new Date(Date.now() - ago * DAY).toISOString().slice(0, 10);
    const parsed = parseRetention({
      ...{ from: day(60), to: day(1), timezone: 'UTC', period: 'month', mode: 'first_time' },
      ...{ start: { event: 'a' }, return: { event: 'b' } },
    });
    const request = parsed.ok ? parsed.request : fail();
    let [looks, runs] = [0, 0];
    const cached = cachedRows({
      kept: new KeptAnswers({ answer: 1e6, perAccount: 1e6, total: 1e6, maxAgeMs: 1e9 }, Date.now),
      readFew: ({ sql, params }, turn) => {
        if (sql.includes('expiring')) looks++;
        return readRows({ client: database.client, sql, params, signal: turn.signal });
      },
      ...{ log: createLog({ part: 'test', level: 'silent' }), now: Date.now },
    });
    const sizes = async (rowsOf: RowsOf) => {
      const how = { accountId: 1, freshUntil: Date.now(), merges: 'none' as const };
      const answer = await reportsOver(rowsOf).retention({ ...how, readsTraits: false, request });
      return answer.cohorts.map(({ size }) => size);
    };
    const fresh = () => sizes((statement) => readReport(database.client, statement));
    const ask = async () => {
      const answer = await sizes(({ reads, ...statement }) =>
        cached({ ...statement, reads: reads ?? fail() }, () => {
          runs++;
          return readReport(database.client, statement);
        }),
      );
      expect(answer).toEqual(await fresh());
      return { people: answer.reduce((sum, size) => sum + size, 0), runs, looks };
    };
    expect(await ask()).toEqual({ people: 1, runs: 1, looks: 1 });
    expect(await ask()).toEqual({ people: 1, runs: 1, looks: 1 });
    // the person's first event is now before the range
    await insert('a', expiresAt - 400 * DAY);
    expect(await ask()).toEqual({ people: 0, runs: 2, looks: 1 });
    expect(await ask()).toEqual({ people: 0, runs: 3, looks: 2 });
    await eventually({ ms: 60_000, every: 500, waitingFor: 'the event to expire' }, () =>
      Promise.resolve(Date.now() > expiresAt + 1000 || undefined),
    );
    expect(await ask()).toMatchObject({ people: 1 });
  },
);
