/**
 * ./ravand bench cold-profiles -- [--people 1000000,50000000] [--loads 1000,20000,100000]
 * [--rounds 5] [--keep] [--database NAME]
 * Loads of profiles that are only in ClickHouse, beside each other for several numbers of people,
 * in turns: time and CPU of the server for each profile. The people are generated in ClickHouse, in
 * a table of their own for each number, in a database of their own on the stack's ClickHouse.
 * Four states: after the merges that filling causes; when each table is one part, as a day without
 * merges leaves it; when one in fifty people was written again since; and, from one part again,
 * when the same number was written again in each table. --keep leaves the database; --database
 * names it and does not fill it again when it was kept.
 */
import { parseLine } from '../cli/arguments.ts';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { ddlFolders } from '../projections/ddl-folders.ts';
import { profileKey } from '../projections/profiles/profile.ts';
import { clickhouseProfiles, type ProfileStore } from '../projections/profiles/store.ts';
import { fillProfiles, mergeOld, waitForMerges, writeDay } from './profiles/fill.ts';
import { cpuOf, pidsOf } from './server-process.ts';
import { benchStack } from './stack.ts';
import { numberOf, numbersOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage:
    'bench cold-profiles -- [--people N,N] [--loads N,N] [--rounds N] [--keep] [--database NAME]',
  options: {
    people: { type: 'string', default: '1000000,50000000' },
    loads: { type: 'string', default: '1000,20000,100000' },
    rounds: { type: 'string', default: '5' },
    keep: { type: 'boolean', default: false },
    database: { type: 'string' },
  },
});
const sizes = numbersOf(values, 'people');
const loads = numbersOf(values, 'loads');
const rounds = numberOf(values, 'rounds');
const database = values.database ?? `bench_cold_${Date.now().toString(36)}`;
const ready = benchStack();
const settings = parseSettings(clickhouseSettings, {
  CLICKHOUSE_URL: ready.clickhouse_url,
  CLICKHOUSE_DATABASE: database,
});
await migrateClickhouse(settings, ddlFolders());
const client = connectClickhouse({ settings, name: 'bench', requestTimeout: 3_600_000 });
const servers = await pidsOf(['clickhouse']);
/** CPU time of the stack's ClickHouse, ms; 0 for an external server. */
const serverCpu = () => servers.reduce((sum, pid) => sum + cpuOf(pid), 0);
const { signal } = new AbortController();

/** The system takes so long to write the merged parts to the disk, which slows the loads down. */
const WRITE_BACK_MS = 60_000;

/** Of the people of each table, that a day writes again. */
const DAY_SHARE = 0.02;
/** Of the people of the smallest table, that a day writes again in each. */
const SAME_SHARE = 0.1;

interface Table {
  people: number;
  table: string;
}

interface Measured {
  took: number;
  clickhouseCpu: number;
  cpu: number;
}

async function measure(store: ProfileStore, people: number, count: number): Promise<Measured> {
  const ids = Array.from({ length: count }, () => ({
    accountId: 1,
    distinctId: `user-${Math.floor(Math.random() * people)}`,
  }));
  const [began, own, server] = [performance.now(), process.cpuUsage(), serverCpu()];
  const loaded = await store.load(ids, signal);
  const took = performance.now() - began;
  const used = process.cpuUsage(own);
  // A few others are among them: those with the same hash.
  const missing = ids.filter((one) => !loaded.get(profileKey(one.accountId, one.distinctId)));
  if (missing.length > 0) throw new Error(`${missing.length} of ${count} were not found`);
  return {
    took,
    clickhouseCpu: serverCpu() - server,
    cpu: (used.user + used.system) / 1000,
  };
}

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

try {
  const tables = sizes.map((people) => ({ people, table: `profiles_${people}` }));
  for (const { people, table } of tables) await fillProfiles(client, { people, table });
  await waitForMerges(client, database);
  await measureAll(tables);
  await mergeAll(tables);
  await measureAll(tables);
  for (const { people, table } of tables)
    await writeDay(client, { people, written: people * DAY_SHARE, table, database });
  await measureAll(tables);
  await mergeAll(tables);
  const written = Math.min(...sizes) * SAME_SHARE;
  for (const { people, table } of tables)
    await writeDay(client, { people, written, table, database });
  await measureAll(tables);
} finally {
  if (!values.keep) await client.command({ query: `DROP DATABASE ${database}` });
  await client.close();
}

/** Each table becomes one part. */
async function mergeAll(tables: readonly Table[]): Promise<void> {
  for (const { table } of tables) await mergeOld(client, { table, database });
  await new Promise((resolve) => setTimeout(resolve, WRITE_BACK_MS));
}

/** Loads from each table in turns, and prints what they took and of what parts they were. */
async function measureAll(tables: readonly Table[]): Promise<void> {
  // A server that has run for long has the states in the memory of the system.
  for (const { table } of tables)
    await client.command({
      query: `SELECT sum(length(_state)) FROM mergeTreeProjection(${database}, ${table}, states) FORMAT Null`,
    });
  const stores = tables.map(({ table, people }) => {
    const store = clickhouseProfiles({ client, cluster: '', table });
    return { table, people, store };
  });
  for (const count of loads) {
    const lines = [];
    const found = new Map(tables.map(({ table }) => [table, [] as Measured[]]));
    // Small loads are repeated, because the clock of a process's CPU time is coarse.
    const repeats = Math.max(1, Math.floor(5000 / count));
    for (let round = -1; round < rounds; round++)
      for (const { table, people, store } of stores)
        for (let n = 0; n < repeats; n++) {
          const one = await measure(store, people, count);
          if (round >= 0) found.get(table)?.push(one);
        }
    const [base] = tables;
    const per = (table: string, of: (one: Measured) => number) =>
      (1000 * median((found.get(table) ?? []).map(of))) / count;
    const mean = (table: string, of: (one: Measured) => number) => {
      const all = found.get(table) ?? [];
      return (1000 * all.reduce((sum, one) => sum + of(one), 0)) / all.length / count;
    };
    for (const { table, people } of tables)
      lines.push({
        people,
        'profiles a load': count,
        'µs a profile': Number(per(table, ({ took }) => took).toFixed(1)),
        'of the first': Number(
          (per(table, ({ took }) => took) / per(base?.table ?? '', ({ took }) => took)).toFixed(2),
        ),
        'ClickHouse CPU µs': Number(mean(table, ({ clickhouseCpu }) => clickhouseCpu).toFixed(1)),
        'CPU of the first': Number(
          (
            mean(table, ({ clickhouseCpu }) => clickhouseCpu) /
            mean(base?.table ?? '', ({ clickhouseCpu }) => clickhouseCpu)
          ).toFixed(2),
        ),
        'own CPU µs': Number(mean(table, ({ cpu }) => cpu).toFixed(1)),
      });
    console.table(lines);
  }
  const parts = await client.query({
    query: `SELECT table, count() AS parts, sum(p.rows) AS people, round(sum(p.bytes_on_disk) / sum(p.rows), 1) AS bytes_a_row FROM system.parts AS p WHERE p.database = {database:String} AND p.active AND p.table LIKE 'profiles_%' GROUP BY table ORDER BY people`,
    query_params: { database },
    format: 'JSONEachRow',
  });
  console.table(await parts.json());
}
