/**
 * The same rows on one server and on two shards: whatever reads the view of people, merged names or
 * several tables answers the same. The properties of reports are in answers.test.ts.
 */
import type { ClickHouseClient } from '@clickhouse/client';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { qualityQuery } from '../../../account-api/quality/queries.ts';
import type { ReportProcess } from '../../../account-api/reports/compute-here.ts';
import { LargeReports } from '../../../account-api/reports/few-events/large-reports.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { ReportThreads } from '../../../account-api/reports/many-events/report-threads.ts';
import { readReport, reportsOver } from '../../../account-api/reports/run.ts';
import { compileExport } from '../../../account-api/exports/compile.ts';
import { schemaQueries } from '../../../account-api/schema/queries.ts';
import { mergesOf } from '../../../audiences/people-sql.ts';
import { readAudience } from '../../../audiences/read.ts';
import { audienceCounter } from '../../../account-api/audiences/count.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { countPeopleSeen } from '../../../platform/meters/people-seen.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { rowsFreezer } from '../../../pipeline/planner/freeze/freeze-rows.ts';
import { recipientsReader } from '../../../pipeline/planner/chunks/read-recipients.ts';
import { compareProfiles } from '../../../projections/profiles/check/compare.ts';
import { profileKey } from '../../../projections/profiles/profile.ts';
import { clickhouseProfiles } from '../../../projections/profiles/store.ts';
import { readProfiles } from '../../../messaging/recipients/read-profiles.ts';
import { membersReader } from '../../../management-api/onsite-audiences/read-members.ts';
import { openTwoShards, type TwoShards } from './two-shards.ts';

const ACCOUNTS = [1, 2, 3, 4];
const NOW = Date.now();
const HOUR = 3_600_000;
const NAMES = 12;
const { signal } = new AbortController();
const time = (ms: number) => new Date(ms).toISOString();

let shards: TwoShards;
let one: ClickHouseClient;
let settings: TwoShards['settings'];
beforeAll(async () => {
  shards = await openTwoShards();
  settings = {
    ...shards.settings,
    ...{ CLICKHOUSE_URL: shards.servers[0]?.url ?? '', CLICKHOUSE_SHARDS: '' },
    CLICKHOUSE_DATABASE: 'one_server',
  };
  await migrateClickhouse(settings, ddlFolders());
  one = connectClickhouse({ settings, name: 'test' });
  for (const client of [one, shards.client]) await fill(client);
}, 300_000);
afterAll(async () => {
  await one.close();
  await shards.close();
});

/** People of four accounts; two of three names are another person's. Rows are written twice. */
async function fill(client: ClickHouseClient): Promise<void> {
  const insert = (table: string, values: object[]) =>
    client.insert({ table, values, format: 'JSONEachRow' });
  const of = (row: (account: number, n: number) => object) =>
    ACCOUNTS.flatMap((account) =>
      Array.from({ length: NAMES * account }, (_, n) => ({
        ...row(account, n),
        account_id: account,
      })),
    );
  const name = (n: number) => `n${n}`;
  for (const version of [1, 2]) {
    await insert(
      'identities_flat',
      of((_, n) => ({ name: name(n), canonical: name(n - (n % (version + 1))), version })),
    );
    await insert(
      'profiles',
      of((account, n) => ({
        ...{ name: name(n), user_id: name(n), event_count: version },
        ...{ first_seen: time(NOW - n * HOUR), last_seen: time(NOW - n * 1000) },
        ...{
          total_revenue: n * version,
          order_count: version,
          email: `${account}-${n}@example.com`,
        },
        ...{ traits: { plan: n % 3 === 0 ? 'gold' : 'none', level: String(n) } },
        ...{ trait_numbers: { level: n }, _stamps: { plan: n * 7 + version, level: n, email: n } },
      })),
    );
    await insert(
      'event_catalogue',
      of((account, n) => ({
        ...{ day: time(NOW).slice(0, 10), event: `e${n % 5}`, _epoch: 0, _partition: n % 2 },
        ...{ chunk: 1, count: account + n, prop_keys: [`k${n}`], last_seen: time(NOW), version },
      })),
    );
    await insert(
      'ingest_quality',
      of((_, n) => ({
        ...{
          day: time(NOW).slice(0, 10),
          kind: 'reject',
          code: `c${n % 3}`,
          field: '',
          sdk: 'web',
        },
        ...{ app_id: 1, gateway: 'g', sequence: n, count: n },
      })),
    );
    await insert(
      'addresses',
      of((_, n) => ({
        ...{ channel: 'push', address_id: `a${n}`, name: name(n * version), version },
        active: n % 4 !== 0,
      })),
    );
  }
  await insert(
    'events',
    of((_, n) => ({
      ...{ _offset: n, event: `e${n % 5}`, user_id: name(n), type: 'track', source: 'sdk' },
      ...{ message_id: `m${n}`, timestamp: time(NOW - n * HOUR), received_at: time(NOW) },
      ...{ properties: { p: String(n) }, property_numbers: { p: n } },
    })),
  );
}

async function answers(read: (client: ClickHouseClient, account: number) => Promise<unknown>) {
  const of = (client: ClickHouseClient) => Promise.all(ACCOUNTS.map((id) => read(client, id)));
  const [expected, found] = [await of(one), await of(shards.client)];
  expect(new Set(expected.map((answer) => JSON.stringify(answer))).size).toBeGreaterThan(1);
  expect(found).toEqual(expected);
}

const AUDIENCE = {
  any: [
    { trait: 'plan', op: 'eq', value: 'gold' },
    { event: 'e1' },
    { attribute: 'has_push', op: 'eq', value: true },
  ],
};

function audience() {
  const outcome = readAudience(AUDIENCE);
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.audience.root;
}

describe('two shards answer as one server', () => {
  it('schema routes and quality', async () => {
    const of = { now: NOW, signal };
    await answers((client, accountId) => schemaQueries(client).events({ ...of, accountId }));
    await answers((client, accountId) => schemaQueries(client).traits({ ...of, accountId }));
    const range = { from: '2020-01-01', to: '2100-01-01', signal };
    await answers((client, accountId) => qualityQuery(client)({ ...range, accountId }));
  });

  it('people, as the view puts their names together', async () => {
    await answers((client, account) =>
      readRows({
        client: onAccount(client, account),
        sql: 'SELECT * FROM people WHERE account_id = {a:UInt64} ORDER BY person',
        ...{ params: { a: account }, signal },
      }),
    );
  });

  it('audiences, their members and their frozen recipients', async () => {
    const root = audience();
    await answers((client, accountId) =>
      audienceCounter({
        rowsOf: (statement) => readReport(onAccount(client, statement.accountId), statement),
        mergesOf: mergesOf(client),
      })({
        ...{ accountId, now: NOW, signal },
        audience: root,
      }),
    );
    const tools = { limits: () => Promise.resolve({}), kill: () => undefined };
    await answers(async (client, accountId) => {
      const read = membersReader({ client, mergesOf: mergesOf(client), ...tools });
      const asked = { accountId, audience: root, limit: 1000, now: NOW, signal };
      const stream = await read(asked);
      return (await text(stream as never)).split('\n').toSorted();
    });
    await answers(async (client, accountId) => {
      const freeze = rowsFreezer({ client, cluster: '', ...tools, timeLimit: 60_000 });
      const run = { accountId, campaignId: 5, runId: 6, attempt: 1, percent: 20, at: NOW };
      const { people } = await freeze({ ...run, audience: root }, signal);
      const read = recipientsReader({ client, cluster: '' });
      const found: unknown[] = [];
      const slice = { ...run, people, after: '', limit: 1000 };
      for await (const some of read(slice, signal)) found.push(...some);
      expect(found).toHaveLength(people);
      return found;
    });
  });

  it('funnels, whose events threads count', async () => {
    const parsed = parseFunnel({
      ...{ steps: [{ event: 'e2' }, { event: 'e1' }] },
      ...{ from: time(NOW - 30 * 24 * HOUR), to: time(NOW + HOUR) },
    });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    const { request } = parsed;
    await answers(async (client, accountId) => {
      const clickhouse = client === one ? settings : shards.settings;
      const threads = new ReportThreads({ clickhouse, threads: 2, memoryBytes: 2 ** 26 });
      const failures: unknown[] = [];
      const counting = {
        ...{ threads, tooLarge: new LargeReports(() => 0), kill: () => undefined },
        limits: () => Promise.resolve({}),
        onFailure: (error: unknown) => failures.push(error),
      };
      const ask = (here: ReportProcess) =>
        reportsOver((statement) =>
          readReport(onAccount(client, accountId), { ...statement, few: undefined }, here),
        ).funnel({
          ...{ accountId, request, freshUntil: NOW, merges: 'table', readsTraits: false, signal },
        });
      const [{ steps }, { steps: stated }] = [await ask({ counting }), await ask({})];
      await threads.end();
      expect(steps).toEqual(stated);
      expect([failures, steps[1]?.count === 0]).toEqual([[], false]);
      return steps;
    });
  });

  it('exports', async () => {
    for (const kind of ['events', 'profiles'] as const)
      await answers(async (client, accountId) => {
        const params = new SqlParams();
        const query = compileExport(
          { kind, format: 'ndjson', spec: {} },
          { accountId, now: NOW, today: 20_000, merges: 'table', params },
        );
        const { stream } = await onAccount(client, accountId).exec({
          ...{ query, query_params: params.values(), use_multipart_params_auto: true },
        });
        return (await text(stream)).split('\n').toSorted();
      });
  });

  it('profiles of several accounts at once, and their comparison with their events', async () => {
    const ids = ACCOUNTS.flatMap((accountId) =>
      [3, 5].map((n) => ({ accountId, distinctId: `n${n}` })),
    );
    const load = async (client: ClickHouseClient) => {
      const loaded = await clickhouseProfiles({ client, cluster: '' }).load(ids, signal);
      expect(loaded.size).toBeGreaterThan(0);
      return ids.map((id) => loaded.get(profileKey(id.accountId, id.distinctId)));
    };
    expect(await load(shards.client)).toEqual(await load(one));
    const names = ids.map(({ accountId, distinctId: name }) => ({
      accountId,
      name,
      isMerged: true,
    }));
    const read = (client: ClickHouseClient) => readProfiles({ client, names, signal } as never);
    expect([...(await read(shards.client))].toSorted()).toEqual([...(await read(one))].toSorted());
    await answers((client, accountId) =>
      compareProfiles({
        ...{ client, cluster: '', accountId, selection: { share: 0, shares: 1 }, wholeFrom: 0 },
        ...{ bounds: [{ epoch: 0, partition: 0, offset: 100, index: 0 }], signal },
      }),
    );
  });

  it('people seen in a month, of all accounts', async () => {
    const month = { from: NOW - HOUR, to: NOW + HOUR } as never;
    const seen = async (warehouse: ClickHouseClient) =>
      [...(await countPeopleSeen({ warehouse, month }))].toSorted();
    expect(await seen(shards.client)).toEqual(await seen(one));
    expect((await seen(one)).length).toBe(ACCOUNTS.length);
  });
});
