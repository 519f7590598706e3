/** Funnels and retention whose events threads of the process count. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { LargeReports } from '../../../account-api/reports/few-events/large-reports.ts';
import { MIN_MEMORY_BYTES } from '../../../account-api/reports/many-events/memory-layout.ts';
import { ReportThread } from '../../../account-api/reports/many-events/report-thread.ts';
import { ReportThreads } from '../../../account-api/reports/many-events/report-threads.ts';
import { ServerThreads } from '../../../account-api/reports/many-events/server-threads.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import type { Parsed } from '../../../account-api/reports/report-problem.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import { readReport, reportsOver, type RunReports } from '../../../account-api/reports/run.ts';
import { killQuery } from '../../../platform/clickhouse/kill-on-abort.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { createLog } from '../../../platform/log.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { readyStack } from '../../support/stack.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const DDL = [...EVENTS_DDL, 'projections/identities/ddl/0004_identities_flat.sql'];
const START = Date.UTC(2026, 8, 1);
const RANGE = { from: '2026-09-01', to: '2026-09-21', timezone: 'UTC' };
const EVENTS = 1_200_000;
const log = createLog({ part: 'test', level: 'silent' });

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('many_events', { ddl: DDL, tables: [] });
  const { client } = database;
  // three steps of 40,000 people in 20 days; a person has about thirty events
  await client.command({
    query: `INSERT INTO events (account_id, type, event, user_id, timestamp, received_at, _offset)
      SELECT 1, 'track', ['a', 'b', 'c'][1 + intHash32(number) % 3], toString(intHash32(number + 7) % 40000), fromUnixTimestamp64Milli(${START} + toInt64(intHash64(number) % ${20 * 86_400_000}), 'UTC') AS at, at, number
      FROM numbers(${EVENTS})`,
  });
  await client.command({
    query:
      'INSERT INTO identities_flat (account_id, name, canonical) SELECT 1, toString(number * 10 + 1), toString(number * 10) FROM numbers(4000)',
  });
});
afterAll(() => database.close());

const opened: ReportThreads[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((threads) => threads.end()));
});

/** A process; `query` sees its statements, but for those of threads. */
function openProcess({ memoryBytes = 2 ** 26, url = readyStack().clickhouse_url } = {}) {
  const clickhouse = parseSettings(clickhouseSettings, {
    ...{ CLICKHOUSE_URL: url, CLICKHOUSE_DATABASE: database.name },
  });
  const threads = new ReportThreads({ clickhouse, threads: 2, memoryBytes });
  opened.push(threads);
  const failures: unknown[] = [];
  const tooLarge = new LargeReports(() => 0);
  const query = vi.spyOn(database.client, 'query');
  query.mockClear();
  const counting = {
    ...{ threads, tooLarge, kill: killQuery(database.client, log) },
    limits: () => Promise.resolve({ max_memory_usage: '1000000000' }),
    onFailure: (error: unknown) => failures.push(error),
  };
  const reports = reportsOver((statement) =>
    readReport(database.client, { ...statement, few: undefined }, { counting }),
  );
  return { reports, threads, failures, query };
}

function of<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}

const how = (merges: 'none' | 'table', signal = AbortSignal.timeout(60_000)) => ({
  ...{ accountId: 1, freshUntil: START, merges, readsTraits: false, signal },
});
const funnel = of(
  parseFunnel({ ...RANGE, steps: [{ event: 'a' }, { event: 'b' }, { event: 'c' }] }),
);
const retention = of(
  parseRetention({ ...RANGE, from: '2026-09-05', start: { event: 'a' }, return: { event: 'b' } }),
);

async function stepsOf(reports: RunReports, merges: 'none' | 'table') {
  return (await reports.funnel({ ...how(merges), request: funnel })).steps;
}

async function answersOf(reports: RunReports, merges: 'none' | 'table') {
  const steps = await stepsOf(reports, merges);
  const { cohorts } = await reports.retention({ ...how(merges), request: retention });
  return { steps, cohorts };
}

/** What the statements answer. */
const stated = (merges: 'none' | 'table') =>
  answersOf(
    reportsOver((statement) => readReport(database.client, { ...statement, few: undefined })),
    merges,
  );

it.each(['none', 'table'] as const)(
  'threads answer what the statements do, merges: %s',
  async (merges) => {
    const expected = await stated(merges);
    const { reports, query, failures } = openProcess();
    for (let round = 0; round < 3; round++)
      expect(await answersOf(reports, merges)).toEqual(expected);
    expect(query).not.toHaveBeenCalled();
    expect(failures).toEqual([]);
    expect(JSON.stringify(expected)).toMatch(/"count":[1-9]\d{3,}/);
  },
);

it('statements that run at a time share the threads of one', async () => {
  const clickhouse = parseSettings(clickhouseSettings, {
    CLICKHOUSE_URL: readyStack().clickhouse_url,
  });
  const [row] = await readRows<{ threads: string }>({
    ...{ client: database.client, params: {}, signal: AbortSignal.timeout(60_000) },
    sql: "SELECT toString(getSetting('max_threads')) AS threads",
  });
  const all = Number(row?.threads);
  const threads = new ServerThreads(clickhouse);
  const signal = AbortSignal.timeout(60_000);
  const asker = { accountId: 1, queryId: randomUUID(), application: 'test', signal };
  const shares = [];
  for (const statements of [1, 2, 1000]) shares.push(await threads.share(statements, asker));
  expect(all).toBeGreaterThan(0);
  expect(shares).toEqual([all, Math.ceil(all / 2), 1]);
});

it('a report whose events have no room runs its statement, and its events are not read again', async () => {
  const expected = await stated('none');
  const { reports, query, failures } = openProcess({ memoryBytes: MIN_MEMORY_BYTES });
  const run = vi.spyOn(ReportThread.prototype, 'run');
  for (const reads of [2, 0]) {
    run.mockClear();
    query.mockClear();
    expect(await stepsOf(reports, 'none')).toEqual(expected.steps);
    expect(query).toHaveBeenCalledTimes(1);
    expect(run).toHaveBeenCalledTimes(reads);
  }
  expect(failures).toEqual([]);
});

it('reports of the same time run their statements', async () => {
  const expected = await stated('none');
  const { reports, query } = openProcess();
  const answers = await Promise.all([1, 2, 3].map(() => answersOf(reports, 'none')));
  expect(answers).toEqual([expected, expected, expected]);
  expect(query.mock.calls.length).toBeGreaterThan(0);
});

it('a report is answered although its threads end, and those after it have new ones', async () => {
  const expected = await stated('none');
  const { reports, threads, query, failures } = openProcess();
  const run = vi.spyOn(ReportThread.prototype, 'run');
  const answer = answersOf(reports, 'none');
  await vi.waitFor(() => expect(run).toHaveBeenCalled());
  await threads.end();
  expect(await answer).toEqual(expected);
  expect(failures).toHaveLength(1);
  query.mockClear();
  expect(await answersOf(reports, 'none')).toEqual(expected);
  expect(query).not.toHaveBeenCalled();
});

it('a report is answered although its threads do not reach ClickHouse', async () => {
  const expected = await stated('none');
  const { reports, failures } = openProcess({ url: 'http://127.0.0.1:1' });
  expect(await answersOf(reports, 'none')).toEqual(expected);
  expect(String(failures[0])).toContain('ECONNREFUSED');
});

it('an aborted report ends with the reason of its signal, and its threads are free again', async () => {
  const { reports, query } = openProcess();
  const gone = new AbortController();
  const answer = reports.funnel({ ...how('none', gone.signal), request: funnel });
  gone.abort(new Error('the client is gone'));
  await expect(answer).rejects.toThrow('the client is gone');
  await vi.waitFor(async () => {
    query.mockClear();
    await answersOf(reports, 'none');
    expect(query).not.toHaveBeenCalled();
  });
});
