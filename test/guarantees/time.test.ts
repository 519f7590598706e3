import type { ClickHouseClient } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerFunnel, type FunnelRow } from '../../account-api/reports/funnel/answer.ts';
import { compileFunnel } from '../../account-api/reports/funnel/compile.ts';
import { parseFunnel } from '../../account-api/reports/funnel/request.ts';
import { foldOldMinutes } from '../../pipeline/metering/fold-minutes.ts';
import { readReconciliation } from '../../platform/meters/read-reconciliation.ts';
import { reconcile } from '../../pipeline/metering/reconcile.ts';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import { clickhouseEventsTable } from '../../projections/events/events-table.ts';
import { retentionRows } from '../../projections/retention/clickhouse-rows.ts';
import { post } from '../support/client.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { metric } from '../support/service-process.ts';
import {
  clickhouse,
  createAccount,
  eventually,
  FULL,
  killService,
  readyStack,
  rows,
  serviceStatus,
} from '../support/stack.ts';
import { openTestDatabase, type TestDatabase } from '../support/test-database.ts';

const DAY = 86_400_000;
const ACCOUNTS = 50;
/** Events of an account and day. */
const PER_DAY = FULL ? 1000 : 40;
/** Booked minutes of an account and day. */
const MINUTES = FULL ? 144 : 6;
const NAMES = ['open', 'add', 'pay', 'view'];
const LIVE = 7;
/** Keeps 30 days. */
const SHORT = 8;

const DDL = [
  ...['0001_events', '0020_merge_more_parts_at_once', '0021_trace', '0022_whole_part_ttl'],
].map((name) => `projections/events/ddl/${name}.sql`);

/** The rows that ClickHouse reads for a question, as it reports them. */
function counting(client: ClickHouseClient): { client: ClickHouseClient; read: () => number } {
  let total = 0;
  const query = async (params: Parameters<ClickHouseClient['query']>[0]) => {
    const answer = await client.query({
      ...params,
      clickhouse_settings: { ...params.clickhouse_settings, wait_end_of_query: 1 },
    });
    const summary = answer.response_headers['x-clickhouse-summary'];
    total += Number((JSON.parse(String(summary)) as { read_rows: string }).read_rows);
    return answer;
  };
  return {
    client: new Proxy(client, {
      get: (target, name, receiver) =>
        name === 'query' ? query : (Reflect.get(target, name, receiver) as unknown),
    }),
    read: () => total,
  };
}

async function rowsRead(
  of: ClickHouseClient,
  work: (client: ClickHouseClient) => Promise<unknown>,
): Promise<number> {
  const { client, read } = counting(of);
  await work(client);
  return read();
}

describe('a year of 50 accounts', () => {
  let warehouse: TestDatabase;
  let books: BooksDatabase;
  const now = Date.now();
  const today = Math.floor(now / DAY) * DAY;

  beforeAll(async () => {
    warehouse = await openTestDatabase('year', {
      ddl: [
        'projections/identities/ddl/0004_identities_flat.sql',
        'projections/catalogue/ddl/0006_event_catalogue.sql',
        'projections/quality/ddl/0002_ingest_quality.sql',
        ...DDL,
      ],
      tables: [],
    });
    books = await openBooksDatabase();
    await books.migrate('0001', '0099');
  }, testTimeout(180_000));
  afterAll(async () => {
    await books.close();
    await warehouse.close();
  });

  /** Events and balanced books of the days that are `from` to `to` days ago. */
  async function fill(from: number, to: number): Promise<void> {
    for (let day = from; day <= to; day += 50)
      await warehouse.client.command({
        query: `INSERT INTO events (_partition, _offset, account_id, event, type, user_id, message_id, timestamp, received_at)
          SELECT a % 4, d * 100000 + a * 1000 + n, a, [${NAMES.map((name) => `'${name}'`).join()}][n % 4 + 1], 'track', concat('u', toString(n % 20)),
            concat(toString(a), '-', toString(d), '-', toString(n)), at, at
          FROM (SELECT number % ${PER_DAY} AS n, intDiv(number, ${PER_DAY}) % ${ACCOUNTS} + 1 AS a, {from:UInt32} + intDiv(number, ${PER_DAY * ACCOUNTS}) AS d,
            fromUnixTimestamp64Milli(toInt64({today:Int64} - d * ${DAY} + n * 60000), 'UTC') AS at FROM numbers({rows:UInt64}))
          WHERE NOT (a = ${SHORT} AND d > 29)`,
        query_params: {
          ...{ from: day, today, rows: (Math.min(to, day + 49) - day + 1) * PER_DAY * ACCOUNTS },
        },
        clickhouse_settings: { max_partitions_per_insert_block: '0' },
      });
    await books.database.query(
      `INSERT INTO books (account_id, minute, places, stored, open)
       SELECT a, to_timestamp($1::float8) - d * interval '24 hours' + m * interval '7 minutes', 1, 1, false
       FROM generate_series(1, $2::int) AS a, generate_series($3::int, $4::int) AS d, generate_series(1, $5::int) AS m ON CONFLICT DO NOTHING`,
      [today / 1000, ACCOUNTS, from, to, MINUTES],
    );
  }

  /** One turn of each periodic work, and one report: rows read in ClickHouse, by name. */
  async function workOfADay(): Promise<Record<string, number>> {
    const minute = new Date(today - DAY);
    await books.database.query(
      `INSERT INTO books (account_id, minute, places) VALUES ($1, $2, 1) ON CONFLICT (account_id, minute) DO UPDATE SET open = true, changed_at = now()`,
      [LIVE, minute],
    );
    const parsed = parseFunnel({
      ...{ steps: [{ event: 'open' }, { event: 'pay' }], timezone: 'UTC' },
      ...{ from: new Date(today - 7 * DAY).toISOString(), to: new Date(now).toISOString() },
    });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    const { sql, params } = compileFunnel({
      ...{ request: parsed.request, accountId: LIVE, merges: 'none' as const },
    });
    const row = (at: number): EncodedRow =>
      ({
        ...{ account_id: LIVE, event: 'open', timestamp: today - DAY + at * 60_000 },
        position: { epoch: 0, partition: LIVE % 4, offset: 100_000 + LIVE * 1000 + at, index: 0 },
      }) as unknown as EncodedRow;
    const { client } = warehouse;
    return {
      reconciliation: await rowsRead(client, (counted) =>
        reconcile({
          ...{ database: books.database, warehouse: counted, processedUntil: 0, limit: 5000 },
        }),
      ),
      retention: await rowsRead(client, (counted) =>
        retentionRows(counted, '').days({
          ...{ accountId: SHORT, below: today - 30 * DAY, receivedBefore: now },
        }),
      ),
      readBack: await rowsRead(client, (counted) =>
        clickhouseEventsTable({ client: counted, cluster: '' }).stored(
          LIVE % 4,
          Array.from({ length: 10 }, (_, at) => row(4 * at)),
        ),
      ),
      funnel: await rowsRead(client, async (counted) => {
        const answer = await counted.query({
          ...{ query: sql, query_params: params, format: 'JSONEachRow' as const },
        });
        await answer.text();
      }),
    };
  }

  it(
    'costs the periodic work and a report of a week as many rows as a month',
    async () => {
      await fill(0, 31);
      const month = await workOfADay();
      const { published } = await readReconciliation(books.database, { spooled: 0 });
      await fill(32, 399);
      // As merges leave it: one part a month.
      await warehouse.client.command({ query: 'OPTIMIZE TABLE events FINAL' });
      const year = await workOfADay();
      console.log(JSON.stringify({ month, year }));
      for (const [work, count] of Object.entries(year))
        expect(count, work).toBeLessThanOrEqual(1.5 * (month[work] ?? 0) + GRANULES * 8192);
      expect((await readReconciliation(books.database, { spooled: 0 })).published).toBe(
        published + ACCOUNTS * MINUTES * 368,
      );
    },
    testTimeout(600_000),
  );

  it(
    'is folded into days without a change of the books',
    async () => {
      const before = await readReconciliation(books.database, { spooled: 0 });
      for (let turns = 0; (await foldOldMinutes(books.database)) > 0; turns++)
        expect(turns).toBeLessThan(400);
      expect(await readReconciliation(books.database, { spooled: 0 })).toEqual(before);
      const { rows: kept } = await books.database.query<{ minutes: number; days: number }>(
        `SELECT (SELECT count(*)::int FROM books) AS minutes, (SELECT count(*)::int FROM book_days) AS days`,
      );
      expect(kept[0]?.minutes).toBeLessThanOrEqual(ACCOUNTS * MINUTES * 73);
      expect(kept[0]?.days).toBeLessThanOrEqual(ACCOUNTS * 331);
    },
    testTimeout(300_000),
  );

  it(
    'loses expired rows by whole parts only, and reports do not see them before',
    async () => {
      const { client } = warehouse;
      const account = 9_000_001;
      const insert = (ages: readonly number[]) =>
        client.insert({
          table: 'events',
          values: ages.map((age) => ({
            ...{ account_id: account, event: 'old', type: 'track', user_id: `u${age}` },
            timestamp: new Date(now - age * DAY).toISOString(),
            received_at: new Date(now).toISOString(),
          })),
          format: 'JSONEachRow',
        });
      const partsOf = async () =>
        rows<{ name: string; rows: number; first: number }>(
          client,
          `SELECT _part AS name, count() AS rows, toUnixTimestamp(min(timestamp)) AS first FROM events WHERE account_id = ${account} GROUP BY name`,
        );
      await client.command({
        query: 'ALTER TABLE events MODIFY SETTING merge_with_ttl_timeout = 1',
      });
      // The part with the youngest row is kept whole; the others are expired as a whole.
      const mixed = [400.5, 399];
      await insert(mixed);
      await insert([500, 501]);
      await eventually({ ms: 60_000, waitingFor: 'the expired part to be dropped' }, async () =>
        (await partsOf()).every(({ first }) => first * 1000 > now - 490 * DAY) ? true : undefined,
      );
      const left = (await partsOf()).reduce((sum, part) => sum + part.rows, 0);
      expect(left).toBe(mixed.length);
      const parsed = parseFunnel({
        ...{ steps: [{ event: 'old' }, { event: 'none' }], timezone: 'UTC' },
        from: new Date(now - 600 * DAY).toISOString(),
        to: new Date(now).toISOString(),
      });
      if (!parsed.ok) throw new Error(parsed.problem.message);
      const { sql, params } = compileFunnel({
        ...{ request: parsed.request, accountId: account, merges: 'none' as const },
      });
      const answer = await client.query({
        query: sql,
        query_params: params,
        format: 'JSONEachRow',
      });
      const { steps } = answerFunnel({
        request: parsed.request,
        rows: await answer.json<FunnelRow>(),
        measured: { freshUntil: now, rowsRead: 0, elapsedMs: 0 },
      });
      expect(steps.map(({ count }) => count)).toEqual([1, 0]);
    },
    testTimeout(120_000),
  );
});

/** ClickHouse reads whole granules: at most one for each month that it keeps. */
const GRANULES = 15;

it(
  'a Redis that restarts with its file gets back the last claims, not those of the window',
  async () => {
    const account = await createAccount('restarted redis');
    const ready = readyStack();
    const client = clickhouse(ready);
    const normaliser = await serviceStatus('normaliser');
    const refilled = (from: string) =>
      metric(
        normaliser.admin_url ?? '',
        'ravand_normaliser_refilled_claims_total',
        `from="${from}"`,
      );
    const history = 9_000_002;
    const ids = Array.from({ length: 100 }, () => randomUUID());
    const send = async () => {
      const batch = ids.map((id) => ({ type: 'track', event: 'x', user_id: id, message_id: id }));
      const answer = await post(`${ready.ingest_url}/v1/batch`, account.writeKey, { batch });
      expect(answer.status).toBe(200);
    };
    const stored = async () =>
      (
        await rows<{ n: number }>(
          client,
          `SELECT count() AS n FROM events WHERE account_id = ${account.accountId}`,
        )
      )[0]?.n;
    try {
      await client.command({
        query: `INSERT INTO events (account_id, event, type, user_id, message_id, timestamp, received_at)
        SELECT ${history}, 'x', 'track', 'u', concat('h', toString(number)), now64(3) - toIntervalSecond(3600 + number % 3000), now64(3) - toIntervalSecond(3600 + number % 3000)
        FROM numbers(${FULL ? 2_000_000 : 50_000})`,
      });
      await send();
      await eventually({ ms: 60_000, waitingFor: 'the events to be stored' }, async () =>
        (await stored()) === ids.length ? true : undefined,
      );
      const before = { log: await refilled('log'), warehouse: await refilled('warehouse') };
      expect(await killService('redis')).toBe(true);
      await eventually({ ms: 60_000, waitingFor: 'the normaliser to be ready again' }, async () => {
        const url = normaliser.admin_url ?? '';
        const isLoaded = (await metric(url, 'ravand_normaliser_claims_filled')) === 1;
        const isReady = (await fetch(`${url}/readyz`)).ok;
        const { pid } = await serviceStatus('redis');
        return isLoaded && isReady && pid !== null ? true : undefined;
      });
      await send();
      await eventually({ ms: 60_000, waitingFor: 'the claims to be loaded' }, async () =>
        (await metric(normaliser.admin_url ?? '', 'ravand_normaliser_claims_filled')) === 1
          ? true
          : undefined,
      );
      expect((await refilled('warehouse')) - before.warehouse).toBe(0);
      expect((await refilled('log')) - before.log).toBeLessThanOrEqual(2 * ids.length);
      expect(await stored()).toBe(ids.length);
    } finally {
      await client.command({ query: `DELETE FROM events WHERE account_id = ${history}` });
      await client.close();
    }
  },
  testTimeout(240_000),
);
