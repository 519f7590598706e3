import { afterAll, beforeAll, expect, it } from 'vitest';
import { audienceCounter } from '../../../account-api/audiences/count.ts';
import { readEvents } from '../../../account-api/reports/few-events/read-events.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { parsePaths } from '../../../account-api/reports/paths/request.ts';
import { parseRetention } from '../../../account-api/reports/retention/request.ts';
import type { Parsed } from '../../../account-api/reports/report-problem.ts';
import { readReport, reportsOver, type RowsOf } from '../../../account-api/reports/run.ts';
import { parseTrends } from '../../../account-api/reports/trends/request.ts';
import { readAudience } from '../../../audiences/read.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const DDL = [
  ...EVENTS_DDL,
  'projections/profiles/ddl/0003_profiles.sql',
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/profiles/ddl/0005_people.sql',
];
const DAYS = 12;
/** Of each of two events: a granule. */
const PER_DAY = 8192;
const DAY = 86_400_000;
const START = Date.UTC(2026, 8, 10);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('days_read', { ddl: DDL, tables: [] });
  const { client } = database;
  await client.command({
    query: `INSERT INTO events (account_id, type, event, user_id, timestamp, received_at, _offset)
      SELECT 1, 'track', if(number % 2 = 0, 'a', 'b'), toString(intHash32(number) % 5000), fromUnixTimestamp64Milli(${START} + intDiv(toInt64(number) * ${DAY}, ${2 * PER_DAY}), 'UTC') AS at, at, number
      FROM numbers(${DAYS * 2 * PER_DAY})`,
  });
});
afterAll(() => database.close());

function of<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.request;
}

it('reports on one day read its events, and not those of the whole month', async () => {
  const read: number[] = [];
  const rowsOf: RowsOf = async (statement) => {
    const { accountId, few, ...rest } = statement;
    if (few) {
      const { limit } = few;
      const found = await readEvents(database.client, {
        ...{ compiled: few.compile('none'), limit, signal: rest.signal },
      });
      read.push(found.rowsRead);
    }
    const answer = await readReport(database.client, { accountId, ...rest });
    read.push(answer.rowsRead);
    return answer;
  };
  const reports = reportsOver(rowsOf);
  const signal = AbortSignal.timeout(100_000);
  const how = { accountId: 1, freshUntil: Date.now(), merges: 'none' as const, signal };
  const range = { from: '2026-09-15', to: '2026-09-16', timezone: 'UTC' };
  const [a, b] = [{ event: 'a' }, { event: 'b' }];
  const soon = { window_seconds: 60 };
  await reports.funnel({ ...how, request: of(parseFunnel({ ...range, ...soon, steps: [a, b] })) });
  await reports.trends({
    ...how,
    request: of(parseTrends({ ...range, series: [a, b], period: 'day' })),
  });
  await reports.paths({ ...how, request: of(parsePaths({ ...range, ...soon, start: a })) });
  await reports.retention({
    ...how,
    request: of(
      parseRetention({
        ...{ ...range, start: a, return: b },
        ...{ mode: 'recurring', period: 'day', periods: 1 },
      }),
    ),
  });
  const audience = readAudience({ any: [a, b].map((one) => ({ ...one, within_days: 1 })) });
  if (!audience.ok) throw new Error(audience.message);
  const count = audienceCounter({ rowsOf, mergesOf: () => Promise.resolve('none') });
  const now = START + DAYS * DAY;
  await count({ accountId: 1, audience: audience.audience.root, now, signal });
  // at most two days, because windows end on the next one, and a granule before and after
  expect(read.map((rows) => rows <= 8 * PER_DAY)).toEqual(Array(6).fill(true));
});
