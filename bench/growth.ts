/**
 * ./ravand bench growth -- [--rate 300] [--seconds 12] [--rounds 3] [--people 50000]
 * [--events 1000000] [--times 10]
 * CPU per event of each part of a running stack, gateway to profiles: at a base size, and with ten
 * times the people, accounts, stored events, events a second and partitions, each by itself and all
 * together. Sizes take turns, so that what disturbs one disturbs all; only partitions cannot be
 * removed again, so their rounds come last. Partitions are added because of traffic: they are
 * measured at the base rate too, where each has a tenth of the events that it had. Use a stack of
 * its own: its log stays grown, and rows of the rounds with more stored events are dropped at the
 * end.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { createLog } from '../platform/log.ts';
import { readEpochs } from '../platform/log/epochs.ts';
import { readLayout } from '../platform/log/layout.ts';
import { clickhouseSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { TOPIC } from '../schemas/topology.ts';
import { seedAccount } from './account.ts';
import { cpuBetween, cpuByPart } from './growth/cpu-of-parts.ts';
import { storeEvents, storePeople } from './growth/stored-data.ts';
import { percentile, postAtRate } from './load-client.ts';
import { benchStack } from './stack.ts';
import { numericOptions } from './numbers.ts';

const {
  rate,
  seconds,
  rounds,
  people,
  events: stored,
  times,
} = numericOptions('growth', {
  rate: 300,
  seconds: 12,
  rounds: 3,
  people: 50_000,
  events: 1_000_000,
  times: 10,
});
const ACCOUNTS = 10;
const BATCH = 50;
/** After the last answer events are still on their way to the tables, ms. */
const WINDOW_MS = 4000;
/** All rows of a round must be stored within this time, ms; after a growth they take longest. */
const STORED_MS = 180_000;
/** Parts of the path; what other parts need is the row "rest". */
const PATH = ['ingest-gateway', 'normaliser', 'events-sink', 'profiles-sink'];
const SERVERS = ['kafka', 'clickhouse', 'redis', 'postgres'];

interface Customer {
  accountId: number;
  writeKey: string;
}
/** Accounts that send, and the people of each. */
interface Load {
  customers: Customer[];
  peopleEach: number;
}
interface Size {
  name: string;
  load: Load;
  /** The table with `times` as many stored events takes the place of `events` meanwhile. */
  moreStored: boolean;
  /** Events a second. */
  rate: number;
}

const ready = benchStack();
const client = connectClickhouse({
  settings: parseSettings(clickhouseSettings, {
    CLICKHOUSE_URL: ready.clickhouse_url,
    CLICKHOUSE_DATABASE: ready.clickhouse_database,
  }),
  name: 'bench',
  requestTimeout: 600_000,
});
const database = connectPostgres({
  url: ready.database_url,
  log: createLog({ part: 'bench', level: 'error' }),
  name: 'ravand-bench',
  max: 1,
});
let cpu = await cpuByPart();
const run = randomUUID().slice(0, 8);
let sent = 0;

const ravand = (...args: string[]) =>
  promisify(execFile)(join(import.meta.dirname, '../ravand'), args);
const accounts = async (count: number, peopleEach: number): Promise<Load> => ({
  customers: await seedAccounts(count),
  peopleEach,
});
async function seedAccounts(count: number): Promise<Customer[]> {
  const seeded: Customer[] = [];
  while (seeded.length < count) seeded.push(await seedAccount(ready.database_url, 'bench growth'));
  return seeded;
}
const idsOf = ({ customers }: Load) => customers.map(({ accountId }) => accountId);

function body({ peopleEach }: Load): string {
  const items = Array.from({ length: BATCH }, () => {
    const [number, person] = [sent++, Math.floor(Math.random() * peopleEach)];
    return `{"type":"track","event":"product_viewed","user_id":"user-${person}","message_id":"${run}-${number}","properties":{"product_id":"sku-${number % 5000}","product_name":"Wireless headphones","category":"audio","price":${1000 + (number % 977)},"currency":"IRR"},"context":{"library":{"name":"web","version":"2.1.0"},"page":{"url":"https://shop.example/p/${number % 5000}","path":"/p/${number % 5000}","title":"Wireless headphones"},"locale":"fa-IR","session_id":"s-${person}"}}`;
  });
  return `{"batch":[${items.join(',')}]}`;
}

/** CPU of each part for an event, µs. The rows that were answered 200 must be stored afterwards. */
async function round({ name, load, moreStored, rate }: Size): Promise<Map<string, number>> {
  if (moreStored) await client.command({ query: 'EXCHANGE TABLES events AND events_grown' });
  try {
    const since = new Date().toISOString();
    const before = cpu();
    const { answered, failed } = await postAtRate({
      url: `${ready.ingest_url}/v1/batch`,
      headers: (n) => ({
        authorization: `Bearer ${load.customers[n % load.customers.length]?.writeKey ?? ''}`,
      }),
      body: () => body(load),
      connections: 16,
      rate: rate / BATCH,
      duration: seconds * 1000,
    });
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    const used = cpuBetween(before, cpu());
    const events = answered * BATCH;
    await requireStored(load, { since, events, name });
    if (failed > 0) throw new Error(`${failed} requests failed in a round of ${name}`);
    return new Map([...used].map(([part, ms]) => [part, (ms * 1000) / events]));
  } finally {
    if (moreStored) await client.command({ query: 'EXCHANGE TABLES events AND events_grown' });
  }
}

async function requireStored(
  load: Load,
  { since, events, name }: { since: string; events: number; name: string },
): Promise<void> {
  let found = 0;
  for (const deadline = performance.now() + STORED_MS; performance.now() < deadline;) {
    const answer = await client.query({
      query: `SELECT count() AS rows FROM events WHERE account_id IN ({accounts:Array(UInt64)}) AND received_at >= parseDateTime64BestEffort({since:String}, 3, 'UTC') AND startsWith(message_id, {run:String})`,
      query_params: { accounts: idsOf(load), since, run: `${run}-` },
      format: 'JSONEachRow',
    });
    found = Number((await answer.json<{ rows: string }>())[0]?.rows);
    if (found >= events) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error(`of ${events} events of a round of ${name}, ${found} are stored`);
}

/** Rounds of these sizes in turns, after one that is not counted. */
async function measure(sizes: readonly Size[]): Promise<Map<string, Map<string, number>>> {
  const found = new Map(sizes.map(({ name }) => [name, [] as Map<string, number>[]]));
  for (let turn = -1; turn < rounds; turn++)
    for (const size of sizes) {
      const used = await round(size);
      if (turn >= 0) found.get(size.name)?.push(used);
    }
  return new Map([...found].map(([name, used]) => [name, medians(used)]));
}

function medians(used: readonly Map<string, number>[]): Map<string, number> {
  const of = (part: string) =>
    percentile(
      used.map((one) => one.get(part) ?? 0),
      0.5,
    );
  const rest = (one: Map<string, number>) =>
    [...one].reduce((sum, [part, us]) => (isNamed(part) ? sum : sum + us), 0);
  const total = (one: Map<string, number>) => [...one.values()].reduce((sum, us) => sum + us, 0);
  return new Map([
    ...[...PATH, ...SERVERS].map((part): [string, number] => [part, of(part)]),
    ['rest', percentile(used.map(rest), 0.5)],
    ['all', percentile(used.map(total), 0.5)],
  ]);
}

function isNamed(part: string): boolean {
  return PATH.includes(part) || SERVERS.includes(part);
}

function print(measured: ReadonlyMap<string, ReadonlyMap<string, number>>): void {
  const base = measured.get('base');
  console.table(
    [...measured].map(([name, used]) => ({
      'CPU µs an event': name,
      ...Object.fromEntries([...used].map(([part, us]) => [part, Number(us.toFixed(1))])),
      'of base': Number(((used.get('all') ?? 0) / (base?.get('all') ?? 1)).toFixed(2)),
    })),
  );
  console.log('ratio to base, by part');
  console.table(
    [...measured].map(([name, used]) => ({
      size: name,
      ...Object.fromEntries(
        [...used].map(([part, us]) => [part, Number((us / (base?.get(part) ?? 1)).toFixed(2))]),
      ),
    })),
  );
}

try {
  const layout = await readLayout(database);
  const partitions = layout?.partitions ?? 4;
  const epoch = Math.max(
    0,
    ...(await readEpochs(database, TOPIC.raw)).of(0).map((one) => one.epoch),
  );
  const base = await accounts(ACCOUNTS, people / ACCOUNTS);
  const morePeople = await accounts(ACCOUNTS, (times * people) / ACCOUNTS);
  const moreAccounts = await accounts(ACCOUNTS * times, people / ACCOUNTS / times);
  const moreOfBoth = await accounts(ACCOUNTS * times, people / ACCOUNTS);
  for (const load of [base, morePeople, moreAccounts, moreOfBoth])
    await storePeople(client, {
      ...{ accounts: idsOf(load), peopleEach: load.peopleEach },
      ...{ epoch, partitions },
    });
  await client.command({ query: 'DROP TABLE IF EXISTS events_grown SYNC' });
  await client.command({ query: 'CREATE TABLE events_grown AS events' });
  const all = [base, morePeople, moreAccounts, moreOfBoth].flatMap(idsOf);
  await storeEvents(client, { table: 'events', accounts: all, events: stored });
  await storeEvents(client, { table: 'events_grown', accounts: all, events: times * stored });
  const size: Size = { name: 'base', load: base, moreStored: false, rate };
  const measured = await measure([
    size,
    { ...size, name: `people × ${times}`, load: morePeople },
    { ...size, name: `accounts × ${times}`, load: moreAccounts },
    { ...size, name: `events stored × ${times}`, moreStored: true },
    { ...size, name: `events a second × ${times}`, rate: times * rate },
  ]);
  print(measured);
  await ravand('log', 'grow', '--partitions', String(times * partitions));
  // As docs/growth.md says: they fetch more rarely from so many partitions.
  for (const name of ['normaliser', 'relays'])
    for (const action of ['stop', 'start']) await ravand(action, name);
  cpu = await cpuByPart();
  const everything = { load: moreOfBoth, moreStored: true, rate: times * rate };
  print(
    new Map([
      ['base', measured.get('base') ?? new Map<string, number>()],
      ...(await measure([
        { ...size, name: `partitions × ${times}` },
        { ...size, name: `partitions and events a second × ${times}`, rate: times * rate },
        { ...everything, name: `all × ${times}` },
      ])),
    ]),
  );
} finally {
  await client.command({ query: 'DROP TABLE IF EXISTS events_grown SYNC' });
  await client.close();
  await database.end();
}
process.exit(0);
