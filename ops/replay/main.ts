import { TOPIC } from '../../schemas/topology.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { printError, print } from '../../cli/terminal.ts';
import { startProgress } from '../../cli/traffic/progress.ts';
import { committedOffsets } from '../../platform/kafka/admin.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import { createShadowTable, tableId } from '../jobs/shadow-table.ts';
import { withConnections, type Connections } from '../jobs/connections.ts';
import { recordAudit } from '../../platform/audit.ts';
import { emptyCounts, type ReplayCounts } from './classify.ts';
import { JobLost, OwnedJob, startJob, runningJob, takeOverJob } from '../jobs/job-ledger.ts';
import { cutAtBounds, requestedRanges, processedUpTo, type PartitionRange } from './log-ranges.ts';
import { GracefulStop, unlessStopped } from '../graceful-stop.ts';
import { refoldPersons, waitForRefolds } from './refold.ts';
import { rangesOf, reportLines, type Report } from './report.ts';
import { commandText, parseReplayLine, type ReplayLine, type ReplayRequest } from './request.ts';
import { replay, type ReplayJob } from './replay.ts';

/** ms */
const AUDIT_MS = 2000;

/**
 * `./ravand replay …` (docs/replay.md). Answers 0 when it came to its end, 1 when it was stopped.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const line = parseReplayLine(args);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  try {
    return await withConnections({ context, stop: stop.signal }, (connections) =>
      withGracefulStop(stop.signal, (gracefulStop) =>
        line.request
          ? start(connections, { line, request: line.request, gracefulStop })
          : cancel(connections, line, gracefulStop),
      ),
    );
  } catch (error) {
    if (error instanceof JobLost)
      throw new CommandError('another process continues this replay: this one has stopped');
    throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, onSignal);
  }
}

async function withGracefulStop(
  stop: AbortSignal,
  work: (gracefulStop: GracefulStop) => Promise<number>,
): Promise<number> {
  const gracefulStop = new GracefulStop({ stop });
  try {
    const code = await unlessStopped(gracefulStop, work(gracefulStop));
    if (code === undefined) printError('stopped; the same command continues');
    return code ?? 1;
  } finally {
    gracefulStop.close();
  }
}

interface Start {
  line: ReplayLine;
  request: ReplayRequest;
  gracefulStop: GracefulStop;
}

async function start(
  connections: Connections,
  { line, request, gracefulStop }: Start,
): Promise<number> {
  const { job, bounded } = await gracefulStop.run(
    prepare(connections, { line, request, gracefulStop }),
  );
  const target = request.into === undefined ? 'events' : `events_${request.into}`;
  const began = performance.now();
  const total = bounded.ranges.reduce(
    (sum, { partition, from, to }) =>
      sum + Math.max(0, to - Math.max(from, job?.positions[partition] ?? from)),
    0,
  );
  const progress = line.json
    ? undefined
    : startProgress({ total, unit: 'records', now: () => Date.now() });
  const result = await replay({
    ...{ connections, request, ranges: bounded.ranges, job, rate: line.rate, gracefulStop },
    progress: (_, records) => progress?.advance(records),
  });
  progress?.end();
  const isLive = job !== undefined && target === 'events' && !result.stopped;
  const profiles = isLive
    ? await unlessStopped(
        gracefulStop,
        gracefulStop.run(refold(connections, { job, line, gracefulStop })),
      )
    : null;
  const isStopped = result.stopped || profiles === undefined;
  if (job && !isStopped)
    await finish(connections, { job, request, counts: result.counts, state: 'finished' });
  else if (job) await auditStop(connections, job, request, result.counts);
  const report: Report = {
    ...{
      command: commandText(request),
      dry_run: line.dryRun,
      state: isStopped ? 'stopped' : 'finished',
    },
    ...{ job: job?.id ?? null, ranges: rangesOf(bounded.ranges), left_to_live: bounded.leftToLive },
    ...{
      counts: result.counts,
      differences: result.differences,
      profiles: profiles ?? null,
      seconds: (performance.now() - began) / 1000,
    },
  };
  if (line.json) print(JSON.stringify(report));
  else for (const one of reportLines(report)) print(one);
  return isStopped ? 1 : 0;
}

/** Who stops it because PostgreSQL does not answer must not wait for PostgreSQL. */
async function auditStop(
  connections: Connections,
  job: ReplayJob,
  request: ReplayRequest,
  counts: ReplayJob['counts'],
): Promise<void> {
  const audited = auditReplay(connections, 'replay.stopped', job, request, counts);
  await withDeadline({ ms: AUDIT_MS, waitingFor: 'the audit line' }, audited).catch(
    () => undefined,
  );
}

/** The command that ends an unfinished job of a table. */
function cancelOf(command: string, { into }: ReplayRequest): string {
  if (!command.startsWith('replay ')) return `${command} --cancel`;
  return `replay --cancel${into === undefined ? '' : ` --into ${into}`}`;
}

/** The job of the request, begun or taken over, and what it works through. */
async function prepare(
  connections: Connections,
  { line, request, gracefulStop }: Start,
): Promise<{ job: ReplayJob | undefined; bounded: BoundedRanges }> {
  const { database, clickhouse, settings } = connections;
  const target = request.into === undefined ? 'events' : `events_${request.into}`;
  const command = commandText(request);
  let open = await runningJob<PartitionRange[], Record<string, number>, never, never>(
    database,
    target,
  );
  if (!line.dryRun && open && open.command !== command)
    throw new CommandError(
      `./ravand ${open.command} is not finished and writes ${target} too: run it again to continue it, or ./ravand ${cancelOf(open.command, request)}`,
    );
  if (open && !line.dryRun && (await tableId(connections, target)) === undefined) {
    // What it has added is gone: it cannot go on where it was.
    await finish(connections, {
      job: await takeOverJob(database, open.id),
      request,
      counts: emptyCounts(),
      state: 'cancelled',
    });
    open = undefined;
  }
  const bounded =
    open && !line.dryRun
      ? { ranges: open.plan, leftToLive: 0 }
      : await boundedRanges(connections, request, gracefulStop.readSignal);
  if (request.into !== undefined && !line.dryRun)
    await createShadowTable({
      client: clickhouse,
      settings,
      table: 'events',
      suffix: request.into,
    });
  if (request.into !== undefined && line.dryRun) await requireTable(connections, target);
  let job: ReplayJob | undefined;
  if (!line.dryRun) {
    job = open
      ? await takeOverJob(database, open.id)
      : await startJob(database, {
          kind: 'replay',
          command,
          target,
          plan: bounded.ranges,
          counts: emptyCounts(),
        });
    await auditReplay(connections, open ? 'replay.continued' : 'replay.started', job, request);
    if (open && !line.json)
      print(`continues job ${job.id}, which began ${new Date(job.startedAt).toISOString()}`);
  }
  return { job, bounded };
}

/** `held`: records that are left to the live processors. */
interface BoundedRanges {
  ranges: PartitionRange[];
  leftToLive: number;
}

/** The offsets of the request that the live processors are done with. */
async function boundedRanges(
  connections: Connections,
  request: ReplayRequest,
  signal: AbortSignal,
): Promise<BoundedRanges> {
  const { admin, settings } = connections;
  const ranges = await requestedRanges(admin, request);
  if (request.topic === TOPIC.dead) return { ranges, leftToLive: 0 };
  if (request.topic === TOPIC.raw) {
    const bounds = await processedUpTo({ settings, admin, signal }, 'events-sink');
    return cutAtBounds(ranges, bounds);
  }
  const committed = await committedOffsets(admin, 'events-sink', request.topic);
  return cutAtBounds(
    ranges,
    new Map(
      ranges.map(({ partition }) => [
        partition,
        { offset: (committed.get(partition) ?? 0) - 1, index: LAST_INDEX },
      ]),
    ),
  );
}

async function requireTable({ clickhouse }: Connections, table: string): Promise<void> {
  const answer = await clickhouse.query({ query: `EXISTS TABLE ${table}`, format: 'JSONEachRow' });
  const [row] = await answer.json<{ result: number }>();
  if (row?.result !== 1)
    throw new CommandError(
      `there is no table ${table} yet: all events of the range would be new in it`,
    );
}

/**
 * Names whose profile lacks what was added are folded anew; the owners of their partitions take
 * them over within seconds.
 */
async function refold(
  connections: Connections,
  { job, line, gracefulStop }: { job: ReplayJob; line: ReplayLine; gracefulStop: GracefulStop },
): Promise<Report['profiles']> {
  const owned = new OwnedJob(connections.database, job);
  try {
    let scanned = 0;
    const progress = (records: number) => {
      gracefulStop.progressed();
      scanned += records;
      if (!line.json && scanned === records)
        printError('folding the profiles of added events anew, from the beginning of events.raw');
    };
    const refolded = await refoldPersons(connections, job.id, {
      signal: gracefulStop.readSignal,
      progress,
    });
    return {
      ...refolded,
      waiting:
        refolded.asked === 0
          ? 0
          : await waitForRefolds(connections.database, {
              ms: 30_000,
              signal: gracefulStop.readSignal,
            }),
    };
  } finally {
    owned.close();
  }
}

interface Finish {
  job: ReplayJob;
  request: ReplayRequest;
  counts: ReplayJob['counts'];
  state: 'finished' | 'cancelled';
}

async function finish(
  connections: Connections,
  { job, request, counts, state }: Finish,
): Promise<void> {
  const owned = new OwnedJob(connections.database, job);
  await owned.update({ state, counts }).finally(() => owned.close());
  await auditReplay(connections, `replay.${state}`, job, request, counts);
}

/**
 * Ends an unfinished replay: what it was writing is completed, since part of it may be stored, and
 * nothing more is begun.
 */
async function cancel(
  connections: Connections,
  line: ReplayLine,
  gracefulStop: GracefulStop,
): Promise<number> {
  const target = line.into === undefined ? 'events' : `events_${line.into}`;
  const open = await runningJob<PartitionRange[], Record<string, number>, never, never>(
    connections.database,
    target,
  );
  if (!open?.command.startsWith('replay ')) throw new CommandError(`no replay writes ${target}`);
  const job: ReplayJob = await gracefulStop.run(takeOverJob(connections.database, open.id));
  const words = open.command.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  const { request } = parseReplayLine(
    words.slice(1).map((word) => (word.startsWith('"') ? (JSON.parse(word) as string) : word)),
  );
  if (!request) throw new Error(`job ${open.id} has a command that cannot be read`);
  const result = await replay({
    connections,
    request,
    ranges: [],
    job,
    rate: undefined,
    gracefulStop,
    completeOnly: true,
    progress: () => undefined,
  });
  gracefulStop.readSignal.throwIfAborted();
  const profiles =
    target === 'events'
      ? await gracefulStop.run(refold(connections, { job, line, gracefulStop }))
      : null;
  await finish(connections, { job, request, counts: result.counts, state: 'cancelled' });
  if (line.json)
    print(
      JSON.stringify({
        job: job.id,
        command: open.command,
        state: 'cancelled',
        counts: result.counts,
        profiles,
      }),
    );
  else
    print(
      `job ${job.id} is cancelled after ${result.counts.new} added rows: ./ravand ${open.command}`,
    );
  return 0;
}

/** Records the start or the end of a replay in the audit log. */
async function auditReplay(
  connections: Connections,
  action: string,
  job: Pick<ReplayJob, 'id' | 'command'>,
  request: ReplayRequest,
  counts?: ReplayCounts,
): Promise<void> {
  const details = { job: job.id, command: job.command, ...(counts ? { counts } : {}) };
  await recordAudit(connections.database, {
    accountId: request.account ?? null,
    actor: 'operator',
    action,
    details,
  });
}
