import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerTrends, type TrendsRow } from '../../../account-api/reports/trends/answer.ts';
import { compileTrends } from '../../../account-api/reports/trends/compile.ts';
import { parseTrends, type TrendsRequest } from '../../../account-api/reports/trends/request.ts';
import { trendsModel } from '../../../account-api/reports/trends/testing/model.ts';
import { breakdownTarget, datasetOf, EPOCH, filters } from './arbitraries.ts';
import { holdsForAll, type Case } from './holds-for-all.ts';
import { openWarehouse, type Warehouse } from './warehouse.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

const DAY = 86_400_000;
const FRESH_UNTIL = EPOCH + 10 * DAY;

let warehouse: Warehouse;
beforeAll(async () => {
  warehouse = await openWarehouse('trends_property');
});
afterAll(() => warehouse.close());

const series = fc
  .record({
    event: fc.constantFrom('a', 'b'),
    measure: fc.constantFrom('events', 'people', 'sum', 'average'),
    property: fc.constantFrom('p', 'q'),
    filters: filters(1),
  })
  .map(({ property, ...one }) =>
    one.measure === 'sum' || one.measure === 'average' ? { ...one, property } : one,
  );

function bodyOf(isBrokenDown: boolean): fc.Arbitrary<unknown> {
  return fc
    .record({
      series: fc.array(series, { minLength: 1, maxLength: 3 }),
      from: fc.constantFrom('2026-09-18', '2026-09-20', '2026-09-20T10:15:00+03:30'),
      to: fc.constantFrom('2026-09-22', '2026-09-25', '2026-09-21T12:00:00Z'),
      timezone: fc.constantFrom('Asia/Tehran', 'UTC', 'America/Santiago', 'Australia/Lord_Howe'),
      period: fc.constantFrom('hour', 'day', 'week', 'month'),
      calendar: fc.constantFrom('gregorian', 'jalali'),
      include_bots: fc.boolean(),
      filters: filters(1),
      breakdown: isBrokenDown
        ? fc
            .record({ target: breakdownTarget, limit: fc.constantFrom(1, 2, 100) })
            .map(({ target, limit }) => ({ ...target, limit }))
        : fc.constant(undefined),
    })
    .map((body) => ({ ...body }));
}

/** Instants over days, around the ends of hours, many of them the same. */
const times = fc
  .record({
    day: fc.integer({ min: -3, max: 6 }),
    hour: fc.integer({ min: -3, max: 3 }),
    jitter: fc.constantFrom(-1, 0, 0, 1_800_000),
  })
  .map(({ day, hour, jitter }) => day * DAY + hour * 3_600_000 + jitter);

function read({ body }: Case): TrendsRequest {
  const parsed = parseTrends(body);
  if (!parsed.ok) throw new Error(`${parsed.problem.kind}: ${JSON.stringify(body)}`);
  return parsed.request;
}

async function bySql(account: number, one: Case): Promise<unknown> {
  const request = read(one);
  const { sql, params } = compileTrends({
    request,
    accountId: account,
    merges: one.dataset.canonical.size > 0 ? 'table' : 'none',
  });
  const { data } = await (
    await onAccount(warehouse.client, account).query({
      query: sql,
      query_params: params,
      format: 'JSON',
    })
  ).json<TrendsRow>();
  const answer: Partial<ReturnType<typeof answerTrends>> = answerTrends({
    request,
    rows: data,
    measured: { freshUntil: FRESH_UNTIL, rowsRead: 0, elapsedMs: 0 },
  });
  delete answer.meta;
  return answer;
}

function isTelling(answer: string): boolean {
  const { series: all } = JSON.parse(answer) as { series: { total: number | null }[] };
  return all.some(({ total }) => (total ?? 0) > 0);
}

for (const isBrokenDown of [false, true])
  test(
    `SQL and reference agree about trends${isBrokenDown ? ', broken down' : ''}`,
    { timeout: 600_000 },
    async () => {
      const dataset = datasetOf({
        ...{ names: ['a', 'a', 'b'], times, people: 20, maxEvents: 200, merges: true },
      });
      const failure = await holdsForAll({
        warehouse,
        cases: fc.record({ body: bodyOf(isBrokenDown), dataset }),
        bySql,
        byReference: (one) => trendsModel(one.dataset, read(one), FRESH_UNTIL),
        isTelling,
      });
      expect(failure).toBeUndefined();
    },
  );
