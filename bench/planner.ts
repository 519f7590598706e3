/**
 * node --expose-gc bench/planner.ts [--people 10000000]
 * People per second that are frozen and written in chunks, and memory of the process. Finds the
 * servers by KAFKA_BROKERS and CLICKHOUSE_URL; uses a temporary topic and database.
 */
import { randomBytes } from 'node:crypto';
import { readAudience } from '../audiences/read.ts';
import type { WriterHold } from '../ingest/writer-hold.ts';
import { connectChunks } from '../pipeline/planner/chunks/publish-chunks.ts';
import { recipientsReader } from '../pipeline/planner/chunks/read-recipients.ts';
import { writeSlice, type SlicePorts } from '../pipeline/planner/chunks/write-slice.ts';
import { rowsFreezer } from '../pipeline/planner/freeze/freeze-rows.ts';
import { SLICE_SIZES, type LeasedRun } from '../pipeline/planner/run.ts';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../platform/clickhouse/migrate.ts';
import { withKafkaAdmin } from '../platform/kafka/admin.ts';
import { createLog } from '../platform/log.ts';
import { clickhouseSettings, kafkaSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { ddlFolders } from '../projections/ddl-folders.ts';
import { numericOptions } from './numbers.ts';

const { people } = numericOptions('planner', { people: 10_000_000 });
const name = `bench_planner_${randomBytes(4).toString('hex')}`;
const settings = parseSettings(
  { ...kafkaSettings, ...clickhouseSettings },
  { ...process.env, CLICKHOUSE_DATABASE: name },
);
const { signal } = new AbortController();
const log = createLog({ part: 'bench', level: 'error' });

await withKafkaAdmin(settings, (admin) =>
  admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic: name, numPartitions: 4, replicationFactor: 1 }],
  }),
);
await migrateClickhouse(settings, ddlFolders());
const client = connectClickhouse({ settings, name: 'bench', requestTimeout: 600_000 });
try {
  await client.command({
    query: `INSERT INTO profiles (account_id, name, user_id, event_count, first_seen, last_seen, traits)
      SELECT 1, concat('user-', toString(number)), concat('user-', toString(number)), 1, now64(3), now64(3), map('plan', 'gold') FROM numbers(${people})`,
  });
  const frozen = await measure(freeze);
  const written = await measure(write);
  console.table([
    { what: 'freeze, in ClickHouse', 'people/s': Math.round(people / frozen.took) },
    {
      what: 'chunks',
      'people/s': Math.round(people / written.took),
      'people/s a core of the planner': Math.round(people / written.cpu),
    },
  ]);
  const memory = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(JSON.stringify({ people, frozen, written, max_rss_mb: memory }));
} finally {
  await client.command({ query: `DROP DATABASE ${name}` });
  await client.close();
  await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [name] }));
}

/** Seconds. */
interface Measured {
  took: number;
  cpu: number;
}

async function measure(work: () => Promise<void>): Promise<Measured> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { took: (performance.now() - start) / 1000, cpu: (user + system) / 1e6 };
}

async function freeze(): Promise<void> {
  const audience = readAudience({ trait: 'plan', op: 'eq', value: 'gold' });
  if (!audience.ok) throw new Error(audience.message);
  const freezeRows = rowsFreezer({
    ...{ client, cluster: '', timeLimit: 600_000, kill: () => undefined },
    limits: () => Promise.resolve({}),
  });
  const run = { accountId: 1, campaignId: 1, runId: 1, attempt: 1 };
  const query = { ...run, audience: audience.audience.root, percent: 10, at: Date.now() };
  const rows = await freezeRows(query, signal);
  if (rows.people !== people) throw new Error(`${rows.people} people were frozen`);
}

/** The topic is the bench's own. */
const NEVER_HELD: WriterHold = {
  partitions: () => Promise.resolve(undefined),
  run: (publish) => publish(),
  close: () => Promise.resolve(),
};

/** All slices one after the other, as if no other run waited. */
async function write(): Promise<void> {
  const chunks = await connectChunks({
    ...{ settings, topic: name, clientId: 'bench', log, signal, hold: NEVER_HELD },
    written: () => undefined,
  });
  const run: LeasedRun & { frozen: NonNullable<LeasedRun['frozen']> } = {
    ...{ id: 1, campaignId: 1, accountId: 1, definition: {}, fence: 1, freezeAttempt: 1 },
    ...{ frozen: { at: Date.now(), people }, chunks: 0, lastKey: '' },
  };
  const checkpoint: SlicePorts['store']['checkpoint'] = (_, reached) => {
    Object.assign(run, reached);
    return Promise.resolve(true);
  };
  const readRecipients = recipientsReader({ client, cluster: '' });
  const ports = { store: { checkpoint }, readRecipients, publish: chunks.publish };
  for (let outcome = ''; outcome !== 'planned';)
    outcome = await writeSlice(run, { ...ports, sizes: SLICE_SIZES }, signal);
  await chunks.close(1000);
}
