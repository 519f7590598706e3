import { recordAudit } from '../../../platform/audit.ts';
import type { DelegateContext } from '../../local/commands/delegate.ts';
import { Refusal } from '../../local/command.ts';
import { complain, print, table } from '../../local/terminal.ts';
import { countText } from '../look/text.ts';
import { createBeside, dropBeside } from '../replay/beside.ts';
import { readRetentions, withConnections, type Connections } from '../replay/connections.ts';
import { beginJob, JobLost, lastJob, OwnedJob, runningJob, takeOverJob } from '../replay/job-ledger.ts';
import { compareTables, type TableComparison } from './compare.ts';
import { Fill, type RebuildCounts, type RebuildJob, type RebuildPlan } from './fill.ts';
import { livePart } from './live-part.ts';
import type { Progress } from './pass.ts';
import { PROJECTION } from './projections.ts';
import { requireReach } from './reach.ts';
import { parseRebuildLine, type RebuildLine } from './request.ts';
import { startRate } from './rate.ts';
import type { OpenRows } from './target.ts';

interface Report {
  projection: string;
  table: string;
  source: string;
  job: number;
  state: 'caught up' | 'stopped' | 'swapped';
  records: number;
  rows: number;
  seconds: number;
  shortest_window: number | null;
  comparison: TableComparison | null;
}

/** `./ravand rebuild …` (docs/replay.md). Answers 1 when it was stopped, or when the tables differ. */
export async function run(args: string[], context: DelegateContext): Promise<number> {
  const line = parseRebuildLine(args);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  try {
    return await withConnections(context, (connections) => rebuild(connections, line, { stop: stop.signal, homeDir: context.home }));
  } catch (error) {
    if (error instanceof JobLost) throw new Refusal('another process continues this rebuild: this one has stopped');
    throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, onSignal);
  }
}

async function rebuild(connections: Connections, line: RebuildLine, { stop, homeDir }: { stop: AbortSignal; homeDir: string }): Promise<number> {
  const { admin, database, settings } = connections;
  const projection = PROJECTION[line.projection];
  const name = `${projection.table}_${line.suffix}`;
  const began = performance.now();
  const topic = line.projection === 'quality' ? projection.topic : (`events.${line.source}` as const);
  await requireReach({ settings, admin, topic, keeps: projection.keeps, now: Date.now(), signal: stop });
  const job = await openJob(connections, line, name);
  const owned = new OwnedJob(database, job);
  const rate = startRate({ quiet: line.json });
  try {
    const fill = new Fill({ connections, line, job, owned, stop, progress: (state) => rate.show(state) });
    await fill.catchUp(false);
    rate.end();
    const report: Report = {
      ...{ projection: line.projection, table: name, source: topic, job: job.id, state: stop.aborted ? 'stopped' : 'caught up' },
      ...{ records: fill.counts.records, rows: fill.counts.rows, seconds: (performance.now() - began) / 1000 },
      ...{ shortest_window: fill.counts.shortest_window, comparison: null },
    };
    if (stop.aborted) {
      await audit(connections, 'rebuild.stopped', report);
      return tell(line, report);
    }
    if (line.compare && !line.swap) report.comparison = await comparison(connections, line, fill);
    if (line.swap) await swap(connections, { line, fill, homeDir, name, report });
    await owned.update({
      counts: { ...fill.counts, swapped_at: line.swap ? new Date().toISOString() : null },
      state: line.swap ? 'cancelled' : 'finished',
    });
    await audit(connections, line.swap ? 'rebuild.swapped' : 'rebuild.finished', report);
    return tell(line, report);
  } finally {
    rate.end();
    owned.close();
  }
}

/** The unfinished or finished job of the table goes on; where its rows cannot, or were swapped in, it begins anew. */
async function openJob(connections: Connections, line: RebuildLine, name: string): Promise<RebuildJob> {
  const { database, clickhouse: client, settings } = connections;
  const { table } = PROJECTION[line.projection];
  const command = `rebuild ${line.projection} --into ${line.suffix}`;
  const last = await lastJob<RebuildPlan, Record<string, Progress>, Record<string, OpenRows>, RebuildCounts>(database, 'rebuild', name);
  const other = await runningJob<unknown, unknown, unknown, unknown>(database, name);
  if (other && other.id !== last?.id) throw new Refusal(`./ravand ${other.command} writes ${name} too and is not finished`);
  const isResumable = line.projection === 'events' || line.projection === 'profiles';
  if (last && last.state !== 'cancelled' && last.plan.source === line.source && isResumable) {
    const job = await takeOverJob<RebuildPlan, Record<string, Progress>, Record<string, OpenRows>, RebuildCounts>(database, last.id);
    if (!line.json) complain(`goes on with job ${job.id}`);
    return job;
  }
  if (last?.state === 'running') {
    const old = await takeOverJob(database, last.id);
    const owned = new OwnedJob(database, old);
    await owned.update({ state: 'cancelled' }).finally(() => owned.close());
  }
  await dropBeside({ client, settings, table, suffix: line.suffix });
  await createBeside({ client, settings, table, suffix: line.suffix });
  const counts: RebuildCounts = { records: 0, rows: 0, shortest_window: null, swapped_at: null };
  const plan: RebuildPlan = { projection: line.projection, source: line.source };
  const job: RebuildJob = await beginJob(database, { kind: 'rebuild', command, target: name, plan, counts });
  await recordAudit(database, {
    accountId: null,
    actor: 'operator',
    action: 'rebuild.started',
    details: { job: job.id, command, source: line.source },
  });
  return job;
}

async function comparison({ clickhouse: client, database, settings }: Connections, line: RebuildLine, fill: Fill): Promise<TableComparison> {
  const { table: live } = PROJECTION[line.projection];
  const rebuilt = `${live}_${line.suffix}`;
  const retentions = await readRetentions(database);
  return compareTables({
    client,
    cluster: settings.CLICKHOUSE_CLUSTER,
    projection: line.projection,
    live,
    rebuilt,
    positions: fill.positions,
    retentions,
    now: Date.now(),
  });
}

interface Swap {
  line: RebuildLine;
  fill: Fill;
  homeDir: string;
  name: string;
  report: Report;
}

/**
 * Puts the rebuilt table in the place of the live one. The live part stands still meanwhile: the rebuilt table then ends exactly where the part goes on, so that no row is lost and none
 * comes twice. What it was writing when it stopped it reads back from the new table, as after any crash.
 */
async function swap(connections: Connections, { line, fill, homeDir, name, report }: Swap): Promise<void> {
  const { admin, clickhouse: client, database, settings } = connections;
  const { table: live, part, group } = PROJECTION[line.projection];
  if (line.projection === 'events' && (await runningJob(database, 'events')))
    throw new Refusal('a replay to the live tables is not finished: continue or cancel it first');
  const sink = livePart({ admin, part, group, homeDir });
  try {
    await sink.stop();
    await fill.catchUp(true);
    if (line.compare) report.comparison = await comparison(connections, line, fill);
    const cluster = settings.CLICKHOUSE_CLUSTER;
    const [one, other] = cluster === '' ? [live, name] : [`${live}_local`, `${name}_local`];
    await client.command({ query: `EXCHANGE TABLES ${one} AND ${other}${cluster === '' ? '' : ` ON CLUSTER '${cluster}'`}` });
    await fill.identities?.repairFacts({ cluster });
    report.state = 'swapped';
  } finally {
    await sink.start();
  }
}

async function audit({ database }: Connections, action: string, report: Report): Promise<void> {
  const { job, projection, table: name, records, rows } = report;
  const differing = report.comparison?.differing;
  await recordAudit(database, {
    accountId: null,
    actor: 'operator',
    action,
    details: { job, projection, table: name, records, rows, ...(differing === undefined ? {} : { differing }) },
  });
}

function tell(line: RebuildLine, report: Report): number {
  const { comparison: found, state } = report;
  if (line.json) print(JSON.stringify(report));
  else {
    print(
      `${report.table}: ${state}; ${countText(report.records)} records of ${report.source}, ${countText(report.rows)} rows, ${report.seconds.toFixed(1)} s`,
    );
    if (report.shortest_window !== null)
      print(
        `where no verdict reaches, de-duplication covered ${Math.round(report.shortest_window / 60_000)} minutes at least: memory did not suffice for the whole window`,
      );
    if (found) {
      const { live, rebuilt, compared, equal, moved_on, differing } = found;
      print();
      for (const row of table(
        ['', 'live', 'rebuilt', 'compared', 'equal', 'moved on', 'differing'],
        [['rows', ...[live, rebuilt, compared, equal, moved_on, differing].map(countText)]],
      ))
        print(row);
      for (const { what, state: how } of found.examples) print(`  ${how}: ${what}`);
    }
    print();
    if (state === 'stopped') print('stopped; the same command continues');
    else if (state === 'swapped')
      print(`the live table is the rebuilt one now; the former one is ${report.table} until the next rebuild into it, or DROP TABLE ${report.table}`);
    else
      print(
        `compare: ./ravand rebuild ${line.projection} --into ${line.suffix} --compare; take it live: the same with --swap; leave it: DROP TABLE ${report.table}`,
      );
  }
  return state === 'stopped' || (found !== null && found.differing > 0 && state !== 'swapped') ? 1 : 0;
}
