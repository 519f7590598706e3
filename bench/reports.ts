/**
 * node bench/reports.ts [--events 100000000] [--people 2000000] [--days 90] [--rounds 3]
 * [--shape even|funnel] [--keep] [--database NAME]
 * Reports, audience count and schema routes over generated events in the live
 * schema, in a database of their own on the stack's ClickHouse. Where threads count a report, its
 * statement stands beside it. Beside each: the bare scan of the
 * same columns, the same scan with GROUP BY person and max(timestamp), and the question as a system
 * asks it that keeps properties as JSON text and people as UUIDs.
 * --keep leaves the database; --database names it, and asks it without filling it again when it was
 * kept.
 */
import { availableParallelism } from 'node:os';
import { parseLine } from '../cli/arguments.ts';
import { createClient, type ClickHouseSettings } from '@clickhouse/client';
import { planningOf } from '../account-api/reports/planning.ts';
import { schemaQueries, type SchemaQuery } from '../account-api/schema/queries.ts';
import type { CompiledQuery } from '../platform/clickhouse/sql.ts';
import { readMany } from '../account-api/reports/many-events/read-many.ts';
import { ReportThreads } from '../account-api/reports/many-events/report-threads.ts';
import { clickhouseSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { ACCOUNT, fill, type Volume } from './reports/fill.ts';
import { questions, type Question } from './reports/questions.ts';
import { benchStack } from './stack.ts';
import { numberOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage:
    'bench reports -- [--events N] [--people N] [--days N] [--rounds N] [--shape even|funnel] [--keep] [--database N]',
  options: {
    events: { type: 'string', default: '100000000' },
    people: { type: 'string', default: '2000000' },
    days: { type: 'string', default: '90' },
    rounds: { type: 'string', default: '3' },
    shape: { type: 'string', default: 'even' },
    keep: { type: 'boolean', default: false },
    database: { type: 'string' },
  },
});
const ready = benchStack();
const volume: Volume = {
  ...{
    events: numberOf(values, 'events'),
    people: numberOf(values, 'people'),
    days: numberOf(values, 'days'),
    mergedOneIn: 100,
    shape: values.shape === 'funnel' ? ('funnel' as const) : ('even' as const),
  },
  // The last midnight (UTC), so that a kept database gives the same answers for a day.
  until: Math.floor(Date.now() / 86_400_000) * 86_400,
};
const ROUNDS = numberOf(values, 'rounds');
/** The limits of the host (account-api/reports/run.ts), with a longer timeout. */
const LIMITS = {
  max_execution_time: 600,
  max_memory_usage: '6000000000',
  max_bytes_before_external_group_by: '2000000000',
};

const server = createClient({ url: ready.clickhouse_url });
const database = values.database ?? `bench_reports_${Date.now().toString(36)}`;
await server.command({ query: `CREATE DATABASE IF NOT EXISTS ${database}` });
const client = createClient({
  ...{ url: ready.clickhouse_url, database, request_timeout: 600_000 },
  clickhouse_settings: {
    send_progress_in_http_headers: 1,
    http_headers_progress_interval_ms: '20000',
  },
});

interface Measured {
  seconds: number;
  /** Peak memory of the query, MB; NaN when the server did not report it. */
  megabytes: number;
}

async function once(
  { sql, params }: CompiledQuery,
  planning: ClickHouseSettings = {},
): Promise<Measured> {
  const startedAt = performance.now();
  const answer = await client.query({
    query: sql,
    query_params: params,
    format: 'JSON',
    clickhouse_settings: {
      ...LIMITS,
      ...planning,
      output_format_json_quote_64bit_integers: 0,
      wait_end_of_query: 1,
      send_progress_in_http_headers: 0,
    },
  });
  await answer.json();
  const seconds = (performance.now() - startedAt) / 1000;
  const summary = answer.response_headers['x-clickhouse-summary'];
  const reported =
    typeof summary === 'string'
      ? (JSON.parse(summary) as { memory_usage?: string }).memory_usage
      : undefined;
  return { seconds, megabytes: Number(reported ?? NaN) / 1e6 };
}

/** Filling reaches the catalogue near the end. */
async function isFilled(): Promise<boolean> {
  const answer = await client.query({
    query:
      "SELECT count() AS n FROM system.tables WHERE database = currentDatabase() AND name = 'event_catalogue' AND total_rows > 0",
    format: 'JSONEachRow',
  });
  const [row] = await answer.json<{ n: string }>();
  return Number(row?.n ?? 0) > 0;
}

const clickhouse = parseSettings(clickhouseSettings, {
  ...{ CLICKHOUSE_URL: ready.clickhouse_url, CLICKHOUSE_DATABASE: database },
});
const threads = new ReportThreads({
  ...{ clickhouse, memoryBytes: 2 ** 30 },
  threads: Math.min(4, availableParallelism()),
});

/** As `once`, of a report whose events threads count. */
async function counted({ events, merges }: NonNullable<Question['many']>): Promise<Measured> {
  const startedAt = performance.now();
  const lease = threads.lease();
  if (!lease) throw new Error('the threads of the report before are busy');
  const { rows } = await readMany(
    {
      ...{ accountId: ACCOUNT, many: events, merges, settings: LIMITS },
      ...{ kill: () => undefined, signal: AbortSignal.timeout(600_000) },
    },
    lease,
  );
  if (!rows) throw new Error('the events have no room in the memory of the threads');
  return { seconds: (performance.now() - startedAt) / 1000, megabytes: NaN };
}

function median(all: readonly Measured[]): Measured {
  return (
    all.toSorted((a, b) => a.seconds - b.seconds)[Math.floor(all.length / 2)] ?? {
      seconds: NaN,
      megabytes: NaN,
    }
  );
}

try {
  if (!(await isFilled()))
    await fill(client, volume, (text) => process.stderr.write(`\r${text}   `));
  process.stderr.write('\n');
  const number = (value: number, digits = 2) =>
    Number.isFinite(value) ? value.toFixed(digits) : '-';
  console.log(
    '| question | ours s | statement s | scan s | grouped s (a) | JSON and UUID s (b) | ours / (a) | (b) / ours | statement MB | (b) MB |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const { name, ours, many, scan, grouped, json } of questions(volume)) {
    const runs = [[], [], [], [], []] as Measured[][];
    // Rounds alternate, so that other load affects all queries.
    for (let round = 0; round < ROUNDS; round++) {
      const statement = await once(ours, planningOf(ours.sql));
      runs[0]?.push(many ? await counted(many) : statement);
      runs[1]?.push(statement);
      for (const [at, sql] of [scan, grouped, json].entries())
        if (sql !== undefined) runs[at + 2]?.push(await once({ sql, params: {} }));
    }
    const [own, statement, bare, a, b] = runs.map(median);
    if (!own || !statement || !bare || !a || !b) throw new Error('nothing was measured');
    console.log(
      `| ${name} | ${number(own.seconds)} | ${number(statement.seconds)} | ${number(bare.seconds)} | ${number(a.seconds)} | ${number(b.seconds)} | ${number(own.seconds / a.seconds)} | ${number(b.seconds / own.seconds)} | ${number(statement.megabytes, 0)} | ${number(b.megabytes, 0)} |`,
    );
  }
  const schema = schemaQueries(client);
  const asks = {
    'GET /v1/schema/events': (question: SchemaQuery) => schema.events(question),
    'GET /v1/schema/traits': (question: SchemaQuery) => schema.traits(question),
  };
  for (const [name, ask] of Object.entries(asks)) {
    const all: Measured[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now();
      await ask({
        accountId: ACCOUNT,
        now: volume.until * 1000,
        signal: AbortSignal.timeout(600_000),
      });
      all.push({ seconds: (performance.now() - startedAt) / 1000, megabytes: NaN });
    }
    console.log(`| ${name} | ${number(median(all).seconds)} | - | - | - | - | - | - | - | - |`);
  }
} finally {
  await threads.end();
  await client.close();
  if (values.keep || values.database !== undefined) console.error(`kept: --database ${database}`);
  else await server.command({ query: `DROP DATABASE ${database}` });
  await server.close();
}
