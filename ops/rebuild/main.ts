import { recordAudit } from '../../platform/audit.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { CommandContext } from '../../cli/command.ts';
import { print, table } from '../../cli/terminal.ts';
import { countText } from '../../cli/format.ts';
import { readRetentions, withConnections, type Connections } from '../jobs/connections.ts';
import { GracefulStop, unlessStopped, withStopSignal } from '../graceful-stop.ts';
import { OwnedJob, refuseLostJob } from '../jobs/job-ledger.ts';
import { runAddresses } from './addresses/main.ts';
import { compareTables, type TableComparison } from './compare.ts';
import { Fill } from './fill.ts';
import type { RebuildCounts, RebuildJob } from './rebuild-job.ts';
import { KEPT_DAYS } from './former-tables.ts';
import { liveService, swap } from './swap.ts';
import { abandonJob, openJob, openUndo } from './open-job.ts';
import { swapObstacle } from './swap-obstacles.ts';
import { PROJECTION, sourceTopic } from './projections.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { requireAgreedLog } from '../log/agreed-log.ts';
import { logGaps } from './log-coverage.ts';
import { parseRebuildLine, type RebuildLine } from './request.ts';
import { startProgressLine } from './progress-line.ts';

/** ms */
const AUDIT_MS = 2000;

interface Report {
  projection: string;
  table: string;
  source: string;
  /** null: stopped before the job started */
  job: number | null;
  /** `behind`: events arrive faster than the rebuild reads them. */
  state: 'caught up' | 'behind' | 'stopped' | 'swapped';
  records: number;
  rows: number;
  seconds: number;
  shortest_window: number | null;
  comparison: TableComparison | null;
  /** What the log does not hold, one sentence each. */
  gaps: string[];
  /** Why the tables were not exchanged. */
  refused: string | null;
}

/** `./ravand rebuild …` (docs/replay.md). Exits with 1 when stopped, or when the tables differ. */
export async function run(args: string[], context: CommandContext): Promise<number> {
  if (args.includes('addresses')) return runAddresses(args, context);
  const line = parseRebuildLine(args);
  return withStopSignal((stop) =>
    withConnections({ context, stop }, (connections) =>
      line.cancel
        ? cancel(connections, line, stop)
        : rebuild(connections, line, { stop, homeDir: context.home.dir }),
    ).catch(refuseLostJob),
  );
}

async function cancel(
  connections: Connections,
  line: RebuildLine,
  stop: AbortSignal,
): Promise<number> {
  const name = `${PROJECTION[line.projection].table}_${line.suffix}`;
  const gracefulStop = new GracefulStop({ stop });
  try {
    const { id, isKept } = await gracefulStop.run(abandonJob(connections, line, name));
    print(
      line.json
        ? JSON.stringify({ job: id, table: name, state: 'cancelled' })
        : `job ${id} is cancelled, ${name} is ${isKept ? 'kept: a swap replaced it' : 'dropped'}`,
    );
    return 0;
  } finally {
    gracefulStop.close();
  }
}

async function rebuild(
  connections: Connections,
  line: RebuildLine,
  { stop, homeDir }: { stop: AbortSignal; homeDir: string },
): Promise<number> {
  const began = performance.now();
  const table = `${PROJECTION[line.projection].table}_${line.suffix}`;
  const source = sourceTopic(line);
  const report: Report = {
    ...{ projection: line.projection, table, job: null, state: 'stopped', source },
    ...{ records: 0, rows: 0, seconds: 0, shortest_window: null, comparison: null },
    ...{ gaps: [], refused: null },
  };
  const gracefulStop = new GracefulStop({ stop });
  try {
    await unlessStopped(
      gracefulStop,
      runRebuild(connections, { line, gracefulStop, homeDir, report }),
    );
  } finally {
    gracefulStop.close();
  }
  report.seconds = (performance.now() - began) / 1000;
  const action = {
    stopped: 'rebuild.stopped',
    swapped: 'rebuild.swapped',
    behind: 'rebuild.finished',
    'caught up': 'rebuild.finished',
  }[report.state];
  const audited = report.job === null ? Promise.resolve() : audit(connections, action, report);
  // An operator who stops because PostgreSQL does not answer must not wait for PostgreSQL.
  await (report.state === 'stopped'
    ? withDeadline({ ms: AUDIT_MS, waitingFor: 'the audit line' }, audited).catch(() => undefined)
    : audited);
  return printReport(line, report);
}

interface RebuildRun {
  line: RebuildLine;
  gracefulStop: GracefulStop;
  homeDir: string;
  /** Updated as the rebuild progresses. */
  report: Report;
}

/** A stop request rejects as described in GracefulStop; `report` then has the state so far. */
async function runRebuild(
  connections: Connections,
  { line: asked, gracefulStop, homeDir, report }: RebuildRun,
): Promise<void> {
  const { admin, database, settings } = connections;
  const { keepsDays: keeps, topic, service, group } = PROJECTION[asked.projection];
  const source = sourceTopic(asked);
  await gracefulStop.run(requireAgreedLog(connections, [source, topic, TOPIC.verdicts]));
  report.gaps = await gracefulStop.run(
    logGaps({
      ...{ connections, topic: source, keeps, now: Date.now() },
      signal: gracefulStop.readSignal,
    }),
  );
  const { job, isSwapped, since, line } = await gracefulStop.run(
    opened(connections, asked, report),
  );
  report.job = job.id;
  const owned = new OwnedJob(database, job);
  const rate = startProgressLine({ quiet: line.json });
  const fill = new Fill({
    connections,
    line,
    job,
    owned,
    gracefulStop,
    progress: (state) => rate.show(state),
  });
  try {
    if (isSwapped) {
      // The killed process may have left the service stopped.
      const sink = liveService({ admin, settings, service, group, homeDir });
      await gracefulStop.run(sink.stop()).finally(() => sink.start());
      report.state = 'swapped';
    } else {
      const isCaughtUp = await fill.catchUp(false);
      rate.end();
      if (line.compare)
        report.comparison = await gracefulStop.run(
          comparison(connections, { line, fill, gracefulStop }),
        );
      const obstacle = () =>
        swapObstacle(connections.database, {
          ...{ line, since, counts: fill.counts },
          ...{ gaps: report.gaps, comparison: report.comparison },
        });
      report.refused = line.swap ? ((await gracefulStop.run(obstacle())) ?? null) : null;
      const isAllowed = line.swap && report.refused === null;
      if (isAllowed)
        await swap(connections, {
          ...{ line, fill, owned, gracefulStop, homeDir, name: report.table, obstacle, since },
        });
      report.state = isAllowed ? 'swapped' : isCaughtUp ? 'caught up' : 'behind';
    }
    const swapped_at = report.state === 'swapped' ? new Date().toISOString() : null;
    // What an undo needs stays: which tables were exchanged.
    const counts: RebuildCounts = { ...fill.counts, swapped_at };
    if (swapped_at === null) Object.assign(counts, { exchanging: null, former: null });
    await owned.update({ counts, state: swapped_at === null ? 'finished' : 'cancelled' });
  } finally {
    rate.end();
    owned.close();
    await fill.close();
    const { records, rows, shortest_window } = fill.counts;
    Object.assign(report, { records, rows, shortest_window });
  }
}

interface OpenedRun {
  line: RebuildLine;
  job: RebuildJob;
  isSwapped: boolean;
  /** From then on nobody else may have written the live table, ms since the epoch. */
  since: number;
}

/** The job of the command; an undo is a swap of the former table. */
async function opened(
  connections: Connections,
  line: RebuildLine,
  report: Report,
): Promise<OpenedRun> {
  if (!line.undo) {
    const { job, isSwapped } = await openJob(connections, line, report.table);
    return { line, job, isSwapped, since: job.startedAt };
  }
  const { suffix, ...found } = await openUndo(connections, line.projection);
  report.table = `${PROJECTION[line.projection].table}_${suffix}`;
  return { ...found, line: { ...line, suffix, swap: true, source: found.job.plan.source } };
}

async function comparison(
  { clickhouse: client, database, settings }: Connections,
  { line, fill, gracefulStop }: { line: RebuildLine; fill: Fill; gracefulStop: GracefulStop },
): Promise<TableComparison> {
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
    onProgress: () => gracefulStop.progressed(),
  });
}

async function audit({ database }: Connections, action: string, report: Report): Promise<void> {
  const { job, projection, table, records, rows } = report;
  const differing = report.comparison?.differing;
  const refused = report.refused ?? undefined;
  await recordAudit(database, {
    accountId: null,
    actor: 'operator',
    action,
    details: { job, projection, table, records, rows, differing, refused },
  });
}

function printReport(line: RebuildLine, report: Report): number {
  const { comparison: found, state } = report;
  if (line.json) print(JSON.stringify(report));
  else {
    print(
      `${report.table}: ${state}; ${countText(report.records)} records of ${report.source}, ${countText(report.rows)} rows, ${report.seconds.toFixed(1)} s`,
    );
    if (report.shortest_window !== null)
      print(
        `where no verdicts are retained, deduplication covered at least ${Math.round(report.shortest_window / 60_000)} minutes: the whole window does not fit into memory`,
      );
    for (const gap of report.gaps) print(`missing: ${gap}`);
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
    if (report.refused !== null) print(`not swapped: ${report.refused}`);
    else if (state === 'stopped')
      print(
        'stopped; run the same command to resume, or add --cancel to end it and drop its table',
      );
    else if (state === 'behind')
      print('events arrive faster than the rebuild reads them: run the same command again');
    else if (state === 'swapped' && line.undo)
      print(
        `the former table is live again: ./ravand rebuild ${line.projection} --undo exchanges the tables once more`,
      );
    else if (state === 'swapped')
      print(
        `the rebuilt table is live; the previous rows are kept for ${KEPT_DAYS} days: ./ravand rebuild ${line.projection} --undo exchanges the tables again`,
      );
    else
      print(
        `compare: ./ravand rebuild ${line.projection} --into ${line.suffix} --compare; swap it in: the same with --swap; drop it: the same with --cancel`,
      );
  }
  return state === 'stopped' ||
    state === 'behind' ||
    report.refused !== null ||
    (found !== null && found.differing > 0 && state !== 'swapped')
    ? 1
    : 0;
}
