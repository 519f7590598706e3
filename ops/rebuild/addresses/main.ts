import { CommandError, type CommandContext } from '../../../cli/command.ts';
import { countText } from '../../../cli/format.ts';
import { print, table } from '../../../cli/terminal.ts';
import { recordAudit } from '../../../platform/audit.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { ErasureView } from '../../../platform/log/erasures.ts';
import { readEpochs } from '../../../platform/log/epochs.ts';
import {
  COMMAND_CONNECT_MS,
  connectPostgres,
  type Database,
} from '../../../platform/postgres/pool.ts';
import { GROUP, TOPIC } from '../../../schemas/topology.ts';
import { withStopSignal } from '../../graceful-stop.ts';
import { withConnections, type Connections } from '../../jobs/connections.ts';
import {
  OwnedJob,
  refuseLostJob,
  runningJob,
  startJob,
  takeOverJob,
  type Job,
} from '../../jobs/job-ledger.ts';
import { requireAgreedLog } from '../../log/agreed-log.ts';
import type { TableComparison } from '../compare.ts';
import { liveService } from '../swap.ts';
import { ClickhouseAddresses } from './clickhouse-addresses.ts';
import { compareClickhouse, repairClickhouse } from './compare-clickhouse.ts';
import { compareRegisters, lostRows } from './compare-registers.ts';
import { fillRegisters, type FillRegisters } from './fill-registers.ts';
import { repairRegisters } from './repair-registers.ts';
import { parseAddressesLine, type AddressesLine } from './request.ts';
import { createShadowSchema, dropShadowSchema, SHADOW_SCHEMA } from './shadow-schema.ts';

interface Report {
  projection: 'addresses';
  table: string;
  source: string;
  job: number | null;
  state: 'caught up' | 'stopped' | 'swapped';
  records: number;
  /** Rows that the swap changed in PostgreSQL and ClickHouse. */
  rows: number;
  seconds: number;
  shortest_window: null;
  comparison: TableComparison | null;
  gaps: string[];
  refused: string | null;
}

/** `database`: for statements over whole tables. */
interface Servers extends Connections {
  /** For the job: no long statement delays its heartbeat. */
  ledger: Database;
}

type AddressJob = Job<{ projection: 'addresses' }, unknown, unknown, { records: number }>;

/** One statement over a whole table, ms. */
const STATEMENT_MS = 1_800_000;

/**
 * `./ravand rebuild addresses` (docs/replay.md). Exits with 1 when stopped, when something differs,
 * or when the swap was refused.
 */
export async function runAddresses(args: string[], context: CommandContext): Promise<number> {
  const line = parseAddressesLine(args);
  return withStopSignal((stop) =>
    withConnections({ context, stop }, async (connections) => {
      const database = connectPostgres({
        ...{ url: connections.settings.DATABASE_URL, log: connections.log },
        ...{ name: 'ravand-rebuild', max: 1, queryTimeout: STATEMENT_MS },
        connectTimeout: COMMAND_CONNECT_MS,
      });
      try {
        const servers: Servers = { ...connections, database, ledger: connections.database };
        if (line.cancel) return await cancel(servers, line);
        return await rebuild(servers, line, { stop, homeDir: context.home.dir });
      } finally {
        await database.end();
      }
    }).catch(refuseLostJob),
  );
}

/** A job that was killed begins again: its tables are created anew. */
async function openJob(database: Database): Promise<AddressJob> {
  const running = await runningJob(database, SHADOW_SCHEMA);
  if (running) return takeOverJob(database, running.id);
  return startJob(database, {
    ...{ kind: 'rebuild', command: 'rebuild addresses', target: SHADOW_SCHEMA },
    ...{ plan: { projection: 'addresses' }, counts: { records: 0 } },
  });
}

async function cancel({ database, ledger }: Servers, { json }: AddressesLine): Promise<number> {
  const running = await runningJob(ledger, SHADOW_SCHEMA);
  if (!running) throw new CommandError('no rebuild of addresses is unfinished');
  const owned = new OwnedJob(ledger, await takeOverJob(ledger, running.id));
  try {
    await dropShadowSchema(database);
    await owned.update({ state: 'cancelled' });
  } finally {
    owned.close();
  }
  print(
    json
      ? JSON.stringify({ job: running.id, table: SHADOW_SCHEMA, state: 'cancelled' })
      : `job ${running.id} is cancelled, its tables are dropped`,
  );
  return 0;
}

async function rebuild(
  connections: Servers,
  line: AddressesLine,
  { stop, homeDir }: { stop: AbortSignal; homeDir: string },
): Promise<number> {
  const { database, ledger } = connections;
  const began = performance.now();
  const report: Report = {
    ...{ projection: 'addresses', table: SHADOW_SCHEMA, source: TOPIC.channelCommands, job: null },
    ...{ state: 'stopped', records: 0, rows: 0, seconds: 0, shortest_window: null },
    ...{ comparison: null, gaps: [], refused: null },
  };
  await requireAgreedLog(connections, [TOPIC.channelCommands]);
  const job = await openJob(ledger);
  report.job = job.id;
  const owned = new OwnedJob(ledger, job);
  try {
    await createShadowSchema(database);
    await carryOut(connections, { line, report, stop, homeDir, owned });
  } catch (error) {
    if (!stop.aborted) throw error;
    report.state = 'stopped';
  } finally {
    // The tables are those of the process that took the job over.
    await owned.confirm();
    await dropShadowSchema(database);
    const state = report.state === 'stopped' ? 'cancelled' : 'finished';
    await owned.update({ state, counts: { records: report.records } });
    owned.close();
  }
  report.seconds = (performance.now() - began) / 1000;
  const { projection, table: name, records, rows } = report;
  await recordAudit(database, {
    ...{ accountId: null, actor: 'operator', action: ACTIONS[report.state] },
    details: {
      ...{ job: job.id, projection, table: name, records, rows },
      ...{ differing: report.comparison?.differing, refused: report.refused ?? undefined },
    },
  });
  return printReport(line, report);
}

const ACTIONS = {
  stopped: 'rebuild.stopped',
  swapped: 'rebuild.swapped',
  'caught up': 'rebuild.finished',
};

interface Run {
  line: AddressesLine;
  report: Report;
  stop: AbortSignal;
  homeDir: string;
  owned: OwnedJob;
}

async function carryOut(connections: Connections, run: Run): Promise<void> {
  const { database, admin, settings } = connections;
  const { line, report, stop, homeDir } = run;
  const fill = await filler(connections, run);
  await fillRegisters(fill);
  const lost = await lostRows(database);
  if (lost > 0)
    report.gaps.push(`${countText(lost)} rows are of records that the log lost when it went back`);
  if (line.compare) report.comparison = await compare(connections, run);
  report.refused = line.swap ? (obstacleOf(line, report) ?? null) : null;
  if (!line.swap || report.refused !== null) {
    report.state = 'caught up';
    return;
  }
  const sink = liveService({
    ...{ admin, settings, service: 'addresses-sink', group: GROUP.addresses, homeDir },
  });
  try {
    await sink.stop();
    await fillRegisters(fill);
    stop.throwIfAborted();
    report.rows = await repairRegisters(database);
    report.rows += await repairClickhouse(storesOf(connections), { signal: stop, onProgress });
    report.state = 'swapped';
  } finally {
    await sink.start();
  }
}

const onProgress = () => undefined;

async function filler(connections: Connections, { report, stop }: Run): Promise<FillRegisters> {
  const { database, log, admin, settings } = connections;
  const topic = TOPIC.channelCommands;
  const withoutErased = (await ErasureView.read(database, 'recorded')).reader(topic);
  const partitions = await topicEnds(admin, topic);
  for (const { partition, low } of partitions)
    if (low > 0)
      report.gaps.push(
        `${topic} ${partition} begins at offset ${countText(low)}: it was kept for ever`,
      );
  return {
    ...{ database, log, partitions, epochs: await readEpochs(database, topic) },
    async *read(partition, range) {
      const reading = { settings, clientId: 'ravand-rebuild', signal: stop };
      const batches = readRange({ ...reading, range: { topic, partition, ...range } });
      for await (const messages of batches) yield messages.map(withoutErased);
    },
    progress: (records) => (report.records += records),
  };
}

function storesOf({ database, clickhouse, settings }: Connections) {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const addresses = new ClickhouseAddresses(clickhouse, cluster);
  return { database, clickhouse, cluster, addresses };
}

/** PostgreSQL with the log, and ClickHouse with PostgreSQL. */
async function compare(connections: Connections, { stop }: Run): Promise<TableComparison> {
  const registers = await compareRegisters(connections.database);
  const stores = storesOf(connections);
  const clickhouse = await compareClickhouse(stores, { signal: stop, onProgress });
  return {
    ...{ live: registers.live + clickhouse.live, rebuilt: registers.rebuilt + clickhouse.rebuilt },
    compared: registers.compared + clickhouse.compared,
    equal: registers.equal + clickhouse.equal,
    moved_on: registers.moved_on + clickhouse.moved_on,
    differing: registers.differing + clickhouse.differing,
    examples: [...registers.examples, ...clickhouse.examples].slice(0, 10),
  };
}

/** Why nothing is swapped, in one sentence. */
function obstacleOf(
  { maxDiffering, acceptGaps }: AddressesLine,
  { comparison, gaps }: Report,
): string | undefined {
  if (comparison && comparison.differing > maxDiffering)
    return `${countText(comparison.differing)} rows differ, and --max-differing allows ${countText(maxDiffering)}`;
  if (gaps.length > 0 && !acceptGaps)
    return `${gaps.join('; ')}: a swap would remove them (--accept-gaps)`;
  return undefined;
}

function printReport({ json }: AddressesLine, report: Report): number {
  const { comparison: found, state, refused } = report;
  if (json) print(JSON.stringify(report));
  else {
    print(
      `addresses: ${state}; ${countText(report.records)} records of ${report.source}, ${report.seconds.toFixed(1)} s`,
    );
    for (const gap of report.gaps) print(`missing: ${gap}`);
    if (found) {
      const { live, rebuilt, compared, equal, moved_on, differing } = found;
      const counts = [live, rebuilt, compared, equal, moved_on, differing].map(countText);
      const head = ['', 'live', 'rebuilt', 'compared', 'equal', 'moved on', 'differing'];
      for (const row of table(head, [['rows', ...counts]])) print(row);
      for (const { what, state: how } of found.examples) print(`  ${how}: ${what}`);
    }
    if (refused !== null) print(`not swapped: ${refused}`);
    else if (state === 'swapped') print(`${countText(report.rows)} rows were changed`);
  }
  const differs = found !== null && found.differing > 0 && state !== 'swapped';
  return state === 'stopped' || refused !== null || differs ? 1 : 0;
}
