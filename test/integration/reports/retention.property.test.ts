import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answerRetention,
  type RetentionRow,
} from '../../../account-api/reports/retention/answer.ts';
import { compileRetention } from '../../../account-api/reports/retention/compile.ts';
import { retentionModel } from '../../../account-api/reports/retention/testing/model.ts';
import {
  parseRetention,
  type RetentionRequest,
} from '../../../account-api/reports/retention/request.ts';
import { retentionOfMany } from '../../../account-api/reports/retention/many/retention-of-many.ts';
import { countStored } from '../../../account-api/reports/many-events/testing/count-here.ts';
import { breakdownTarget, EPOCH, filters, datasetOf } from './arbitraries.ts';
import { holdsForAll, type Case } from './holds-for-all.ts';
import { openWarehouse, type Warehouse } from './warehouse.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

const DAY = 86_400_000;
const FRESH_UNTIL = EPOCH + 25 * DAY;

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await openWarehouse('retention_property');
});
afterAll(() => warehouse.close());

/**
 * Zones whose clocks change while the datasets last: Tehran (none), Santiago and Beirut (at
 * midnight), New York and Lord Howe (by half an hour).
 */
const zone = fc.constantFrom(
  'Asia/Tehran',
  'America/Santiago',
  'Asia/Beirut',
  'America/New_York',
  'Australia/Lord_Howe',
  'UTC',
);

const a = { event: 'a' };
const ax = { event: 'a', filters: [{ property: 'p', op: 'eq', value: 'x' }] };
const pairs = {
  apart: fc.constantFrom(
    { start: a, return: { event: 'b' } },
    {
      start: ax,
      return: { event: 'a', filters: [{ property: 'p', op: 'in', value: ['y', '2'] }] },
    },
  ),
  same: fc.constantFrom({ start: a, return: a }, { start: ax, return: ax }),
  'overlapping in part': fc.constantFrom(
    { start: a, return: ax },
    { start: ax, return: a },
    { start: ax, return: { event: 'a', filters: [{ property: 'q', op: 'is_set' }] } },
  ),
};

/** Instants over weeks, around the ends of days, many of them the same. */
const times = fc
  .record({
    day: fc.integer({ min: -10, max: 30 }),
    hour: fc.integer({ min: -12, max: 12 }),
    jitter: fc.constantFrom(-1, 0, 0, 1800_000),
  })
  .map(({ day, hour, jitter }) => day * DAY + hour * 3_600_000 + jitter);
const near = fc
  .record({ day: fc.integer({ min: -2, max: 3 }), hour: fc.constantFrom(0, 0, 1) })
  .map(({ day, hour }) => day * DAY + hour * 3_600_000);

function bodyOf(
  selectors: fc.Arbitrary<object>,
  mode: string,
  isBrokenDown: boolean,
): fc.Arbitrary<unknown> {
  return fc
    .record({
      selectors,
      from: fc.constantFrom('2026-09-20', '2026-09-25', '2026-10-03', '2026-09-21T22:30:00+03:30'),
      to: fc.constantFrom('2026-10-10', '2026-10-05', '2026-10-04T12:00:00Z'),
      timezone: zone,
      period: fc.constantFrom('day', 'week', 'month'),
      periods: fc.constantFrom(0, 1, 2, 5, 60),
      calendar: fc.constantFrom('gregorian', 'jalali'),
      week_start: fc.constantFrom('saturday', 'sunday', 'monday'),
      include_bots: fc.boolean(),
      filters: filters(1),
      breakdown: isBrokenDown
        ? fc
            .record({ target: breakdownTarget, limit: fc.constantFrom(1, 2, 100) })
            .map(({ target, limit }) => ({ ...target, limit }))
        : fc.constant(undefined),
    })
    .map(({ selectors: both, ...rest }) => ({ ...both, ...rest, mode }));
}

function read({ body }: Case): RetentionRequest {
  const parsed = parseRetention(body);
  if (!parsed.ok) throw new Error(`${parsed.problem.kind}: ${JSON.stringify(body)}`);
  return parsed.request;
}

/**
 * The answer of the statement, and that of threads where they count such a retention, which must be
 * equal; both where they are not.
 */
async function bySql(account: number, one: Case): Promise<unknown> {
  const request = read(one);
  const merges = one.dataset.canonical.size > 0 ? 'table' : 'none';
  const { sql, params } = compileRetention({ request, accountId: account, merges });
  const client = onAccount(warehouse.client, account);
  const { data } = await (
    await client.query({ query: sql, query_params: params, format: 'JSON' })
  ).json<RetentionRow>();
  const statement = answerOf(request, data);
  const many = retentionOfMany(request, account);
  if (!many) return statement;
  const rows = await countStored(client, { many, merges });
  const threads = answerOf(request, rows as RetentionRow[]);
  return isDeepStrictEqual(statement, threads) ? statement : { statement, threads };
}

function answerOf(request: RetentionRequest, rows: readonly RetentionRow[]): unknown {
  const answer: Partial<ReturnType<typeof answerRetention>> = answerRetention({
    request,
    rows,
    measured: { freshUntil: FRESH_UNTIL, rowsRead: 0, elapsedMs: 0 },
  });
  delete answer.meta;
  return answer;
}

/** True when somebody returned. */
function isTelling(answer: string): boolean {
  const { cohorts } = JSON.parse(answer) as { cohorts: { returned: number[] }[] };
  return cohorts.some(({ returned }) => returned.some((count) => count > 0));
}

for (const [kind, selectors] of Object.entries(pairs)) {
  for (const mode of ['first_time', 'recurring']) {
    for (const isBrokenDown of [false, true]) {
      test(
        `SQL and reference agree: ${mode}, start and return ${kind}${isBrokenDown ? ', broken down' : ''}`,
        { timeout: 600_000 },
        async () => {
          const dataset = datasetOf({
            names: ['a', 'a', 'b'],
            times: fc.oneof(times, near),
            people: 40,
            maxEvents: 400,
            merges: true,
          });
          const cases = fc.record({ body: bodyOf(selectors, mode, isBrokenDown), dataset });
          const failure = await holdsForAll({
            warehouse,
            cases,
            bySql,
            byReference: (one) => retentionModel(one.dataset, read(one), FRESH_UNTIL),
            isTelling,
          });
          expect(failure).toBeUndefined();
        },
      );
    }
  }
}
