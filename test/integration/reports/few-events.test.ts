/** Funnels that are computed from their events, up to a limit, and what happens past it. */
import type { ClickHouseClient, DataFormat, QueryParams } from '@clickhouse/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LargeReports } from '../../../account-api/reports/few-events/large-reports.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { parsePeople } from '../../../account-api/reports/people/request.ts';
import type { Parsed } from '../../../account-api/reports/report-problem.ts';
import { readReport, reportsOver, type RunReports } from '../../../account-api/reports/run.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const DDL = [
  ...EVENTS_DDL,
  'projections/profiles/ddl/0003_profiles.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/profiles/ddl/0005_people.sql',
];
const START = Date.UTC(2026, 8, 10);
const RANGE = { from: '2026-09-10', to: '2026-09-11', timezone: 'UTC', window_seconds: 600 };
const [a, b] = [{ event: 'a' }, { event: 'b' }];
/** Accounts with so many events, half of each name; the values of the last have 8 KiB. */
const EVENTS: Record<number, number> = { 1: 10_000, 2: 10_002, 3: 1_000 };

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('few_events', { ddl: DDL, tables: [] });
  for (const [account, events] of Object.entries(EVENTS))
    await database.client.command({
      query: `INSERT INTO events (account_id, type, event, user_id, timestamp, received_at, _offset, properties)
        SELECT ${account}, 'track', if(number % 2 = 0, 'a', 'b'), toString(intHash32(number) % 500), fromUnixTimestamp64Milli(${START} + toInt64(number) * 500, 'UTC') AS at, at, number, map('p', ${account === '3' ? "concat(repeat('x', 8000), toString(number % 7))" : 'toString(number % 7)'})
        FROM numbers(${events})`,
    });
  await database.client.command({
    query: `INSERT INTO profiles (account_id, name, first_name, first_seen, last_seen) SELECT 1, toString(number), concat('name ', toString(number)), fromUnixTimestamp64Milli(${START}, 'UTC'), fromUnixTimestamp64Milli(${START} + toInt64(number) * 1000, 'UTC') FROM numbers(500)`,
  });
});
afterAll(() => database.close());

function of<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}

/** A process; `formats` are those of its statements: events come in columns, rows in JSON. */
function openProcess({
  isComputing = true,
  now = () => 0,
}: { isComputing?: boolean; now?: () => number } = {}) {
  const formats: string[] = [];
  const { client } = database;
  const query = <Format extends DataFormat>(params: QueryParams & { format?: Format }) => {
    formats.push(params.format ?? '');
    return client.query<Format>(params);
  };
  const counted = Object.assign(Object.create(client) as ClickHouseClient, { query });
  const large = new LargeReports(now);
  const reports = reportsOver((statement) =>
    readReport(counted, isComputing ? statement : { ...statement, few: undefined }, { large }),
  );
  return { reports, formats };
}

const how = (accountId: number) => ({
  ...{ accountId, freshUntil: 0, merges: 'none' as const, signal: AbortSignal.timeout(60_000) },
});

async function funnelOf(reports: RunReports, accountId: number, body: object): Promise<object> {
  const request = of(parseFunnel({ ...RANGE, steps: [a, b], ...body }));
  const answer: { meta?: unknown } = await reports.funnel({ ...how(accountId), request });
  delete answer.meta;
  return answer;
}

const byStatement = (accountId: number, body: object) =>
  funnelOf(openProcess({ isComputing: false }).reports, accountId, body);

it('a funnel of as many events as the limit is computed from them', async () => {
  const { reports, formats } = openProcess();
  const body = { breakdown: { property: 'p' } };
  expect(await funnelOf(reports, 1, body)).toEqual(await byStatement(1, body));
  expect(formats).toEqual(['JSONColumnsWithMetadata']);
});

it('past the limit the statement runs, and for some minutes at once', async () => {
  let now = 0;
  const { reports, formats } = openProcess({ now: () => now });
  const answer = await byStatement(2, {});
  expect(await funnelOf(reports, 2, {})).toEqual(answer);
  expect(formats.splice(0)).toEqual(['JSONColumnsWithMetadata', 'JSON']);
  expect(await funnelOf(reports, 2, {})).toEqual(answer);
  expect(formats.splice(0)).toEqual(['JSON']);
  await funnelOf(reports, 1, {});
  expect(formats.splice(0)).toEqual(['JSONColumnsWithMetadata']);
  now += 3_600_000;
  expect(await funnelOf(reports, 2, {})).toEqual(answer);
  expect(formats).toEqual(['JSONColumnsWithMetadata', 'JSON']);
});

it('steps that share events are computed from half as many', async () => {
  const { reports, formats } = openProcess();
  const body = { steps: [a, a] };
  expect(await funnelOf(reports, 2, body)).toEqual(await byStatement(2, body));
  expect(formats).toEqual(['JSONColumnsWithMetadata', 'JSON']);
});

it('values that are too long together are left to the statement', async () => {
  const { reports, formats } = openProcess();
  const body = { breakdown: { property: 'p' } };
  expect(await funnelOf(reports, 3, body)).toEqual(await byStatement(3, body));
  expect(formats).toEqual(['JSONColumnsWithMetadata', 'JSON']);
});

it.each([
  { step: 1, lost: false },
  { step: 2, lost: false },
  { step: 2, lost: true },
])('the people of a funnel are those of its statement: %j', async ({ step, lost }) => {
  const funnel = { ...RANGE, steps: [a, b], window_seconds: 60 };
  const request = of(parsePeople({ funnel, step, lost }));
  const [computing, stating] = [openProcess(), openProcess({ isComputing: false })];
  const { people } = await computing.reports.people({ ...how(1), request });
  const expected = await stating.reports.people({ ...how(1), request });
  expect(people).toEqual(expected.people);
  expect(people.length).toBeGreaterThan(10);
  expect([computing.formats, stating.formats]).toEqual([
    ['JSONColumnsWithMetadata', 'JSON'],
    ['JSON'],
  ]);
});

it('an aborted report ends with the reason of its signal', async () => {
  const { reports } = openProcess();
  const request = of(parseFunnel({ ...RANGE, steps: [a, b] }));
  const gone = new AbortController();
  const answer = reports.funnel({ ...how(1), request, signal: gone.signal });
  gone.abort(new Error('the client is gone'));
  await expect(answer).rejects.toThrow(/gone|abort/);
});
