import type { ClickHouseClient } from '@clickhouse/client';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAudience } from '../../../audiences/read.ts';
import { settings as managementSettings } from '../../../management-api/config.ts';
import { connectQueries } from '../../../account-api/queries.ts';
import { connectJobClients } from '../../../management-api/job-clients.ts';
import { parseFunnel } from '../../../account-api/reports/funnel/request.ts';
import { readReport } from '../../../account-api/reports/run.ts';
import { killOnAbort, killQuery } from '../../../platform/clickhouse/kill-on-abort.ts';
import { limitedClient } from '../../../platform/clickhouse/limited-client.ts';
import { exceedsMemory, queryLimits } from '../../../platform/clickhouse/query-limits.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { REPORTS_USER, urlOfUser } from '../../../deploy/local/server-passwords.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { createLog } from '../../../platform/log.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { eventually } from '../../support/stack.ts';
import { OWN_CLICKHOUSE_BYTES, startOwnClickhouse } from '../sink/own-servers.ts';

const log = createLog({ part: 'test', level: 'silent' });
/** Keeps an array for each of a hundred million groups: more than any limit. */
const HUNGRY = `SELECT count() AS n FROM (
  SELECT number AS key, groupArray(toString(number)) AS texts FROM numbers_mt(100000000) GROUP BY key
) SETTINGS max_bytes_before_external_group_by = 0, max_bytes_ratio_before_external_group_by = 0`;

let server: Awaited<ReturnType<typeof startOwnClickhouse>>;
let sink: ClickHouseClient;
const opened: ClickHouseClient[] = [];
const connect = (url: string) => {
  const settings = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: url });
  const client = connectClickhouse({
    settings,
    name: 'test',
    database: 'default',
    requestTimeout: 60_000,
  });
  opened.push(client);
  return client;
};
beforeAll(async () => {
  server = await startOwnClickhouse();
  sink = connect(server.url);
  await sink.command({
    query: 'CREATE TABLE kept (n UInt64, text String) ENGINE = MergeTree ORDER BY n',
  });
});
afterAll(async () => {
  await Promise.all(opened.map((client) => client.close()));
  await server.close();
});

function reportClient({ url, hasOwnUser }: { url: string; hasOwnUser: boolean }) {
  const client = connect(url);
  const limits = queryLimits({ client, log, percent: 50, queries: 4, hasOwnUser });
  const kill = killQuery(connect(url), log);
  return { client: killOnAbort(limitedClient(client, { limits, priority: 1 }), kill), limits };
}

const ask = (client: ClickHouseClient, sql: string, signal = AbortSignal.timeout(60_000)) =>
  readRows({ client, sql, params: {}, signal });

describe.each([
  ['a user of their own', true],
  ['the user that inserts', false],
])('reports under %s', (_, hasOwnUser) => {
  it('that want too much memory end with their own error, and inserts succeed meanwhile', async () => {
    const url = hasOwnUser ? urlOfUser(server.url, REPORTS_USER) : server.url;
    const { client, limits } = reportClient({ url, hasOwnUser });
    expect(await limits()).toMatchObject({
      max_memory_usage: String(OWN_CLICKHOUSE_BYTES / (hasOwnUser ? 4 : 8)),
    });
    const ended = new AbortController();
    const reports = Promise.allSettled(
      Array.from({ length: 4 }, (_unused, at) => ask(client, `${HUNGRY} -- ${at}`)),
    ).finally(() => ended.abort());
    let inserts = 0;
    do {
      const values = Array.from({ length: 20_000 }, (_unused, n) => ({ n, text: 'x'.repeat(100) }));
      await sink.insert({ table: 'kept', values, format: 'JSONEachRow' });
      inserts++;
    } while (!ended.signal.aborted);
    for (const report of await reports)
      expect(report.status === 'rejected' && exceedsMemory(report.reason)).toBe(true);
    expect(await ask(client, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(inserts).toBeGreaterThan(0);
  });
});

it('a report whose people exceed the memory in shares is answered with their groups on disk', async () => {
  const byPerson = (people: number) =>
    `SELECT count() AS n, 'shares' AS marker FROM (SELECT intHash64(number % ${people}) AS person, groupArray(number) AS es FROM numbers_mt(2 * ${people}) GROUP BY person)`;
  const limits = () =>
    Promise.resolve({
      ...{ max_memory_usage: '120000000', max_bytes_before_external_group_by: '30000000' },
      max_threads: 2,
    });
  const client = limitedClient(connect(server.url), { limits, priority: 1 });
  const read = (people: number) =>
    readReport(client, {
      compiled: { sql: byPerson(people), params: {} },
      signal: AbortSignal.timeout(60_000),
    });
  expect((await read(1000)).rows).toEqual([{ n: 1000, marker: 'shares' }]);
  expect((await read(1_500_000)).rows).toEqual([{ n: 1_500_000, marker: 'shares' }]);
});

it('an aborted query is killed although all sockets of reports are in use', async () => {
  const { client } = reportClient({ url: urlOfUser(server.url, REPORTS_USER), hasOwnUser: true });
  const marker = 'endless_of_this_test';
  const endless = `SELECT max(number % 7) AS ${marker} FROM numbers(${2n ** 63n}) SETTINGS max_execution_time = 0`;
  const gone = new AbortController();
  // the client has eight sockets
  const queries = Array.from({ length: 12 }, () => ask(client, endless, gone.signal));
  const running = async () => {
    const sql = `SELECT count() AS n FROM system.processes WHERE query LIKE '%${marker}%' AND query NOT LIKE '%processes%'`;
    return (
      await readRows<{ n: number }>({
        client: sink,
        sql,
        params: {},
        signal: AbortSignal.timeout(30_000),
      })
    )[0]?.n;
  };
  const until = (n: number) =>
    eventually(
      { ms: 30_000, every: 100, waitingFor: `${n} running queries` },
      async () => (await running()) === n || undefined,
    );
  await until(8);
  gone.abort(new Error('the client left'));
  for (const one of await Promise.allSettled(queries)) expect(one.status).toBe('rejected');
  await until(0);
});

it('the user of reports may run every query of the host, and change nothing', async () => {
  const settings = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: server.url });
  await migrateClickhouse(settings, ddlFolders());
  const config = parseSettings(managementSettings, {
    ...{ CLICKHOUSE_URL: server.url, CLICKHOUSE_REPORTS_URL: urlOfUser(server.url, REPORTS_USER) },
  });
  const jobs = connectJobClients({ config, name: 'test' });
  const queries = connectQueries({
    ...{ config, name: 'test', log, registry: new Registry(), metric: 'ravand_queries' },
    jobQueries: jobs.queries,
  });
  const signal = AbortSignal.timeout(60_000);
  const now = Date.now();
  const funnel = parseFunnel({
    ...{ from: '2026-01-01', to: '2026-02-01' },
    steps: [{ event: 'a' }, { event: 'b', filters: [{ trait: 't', op: 'eq', value: 'x' }] }],
  });
  if (!funnel.ok) throw new Error(funnel.problem.message);
  for (const merges of ['none', 'table'] as const) {
    const report = { accountId: 1, request: funnel.request, freshUntil: now, merges, signal };
    expect((await queries.reports.funnel(report)).steps).toHaveLength(2);
  }
  const audience = readAudience({ event: 'a', where: [{ property: 'p', op: 'eq', value: 1 }] });
  if (!audience.ok) throw new Error(audience.message);
  const count = { accountId: 1, audience: audience.audience.root, now, signal };
  expect(await queries.countAudience(count)).toBe(0);
  expect(await queries.mergesOf(1, signal)).toBe('none');
  expect(await queries.schema.events({ accountId: 1, now, signal })).toEqual([]);
  expect(await queries.schema.traits({ accountId: 1, now, signal })).toEqual([]);
  const days = { accountId: 1, from: '2026-01-01', to: '2026-02-01', signal };
  expect(await queries.readQuality(days)).toEqual([]);
  const run = {
    id: 3,
    planned: 1_000_000,
    campaignId: 2,
    frozenAt: now,
    finishedAt: undefined,
    hasControl: true,
  };
  const runs = [{ ...run, goal: { event: 'a', windowMs: 3_600_000 } }];
  for (const merges of ['none', 'table'] as const) {
    const stats = { accountId: 1, campaignId: 2, runs, merges, now, signal };
    expect(await queries.countPeople(stats)).toMatchObject({ opened: 0, control: 0, revenue: 0 });
  }
  const { exports: client } = jobs;
  for (const query of ['DROP TABLE events', "INSERT INTO events (event) VALUES ('x')"])
    await expect(client.command({ query })).rejects.toMatchObject({ type: 'ACCESS_DENIED' });
  await Promise.all([queries.close(), jobs.close()]);
});
