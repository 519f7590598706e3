import { CommandError, type CommandContext } from '../../cli/command.ts';
import { printError, print } from '../../cli/terminal.ts';
import { startProgress } from '../../cli/traffic/progress.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { withConnections, type Connections } from '../jobs/connections.ts';
import { requireAgreedLog } from '../log/agreed-log.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { refuseLostJob, runningJob, takeOverJob } from '../jobs/job-ledger.ts';
import { type PartitionRange } from './log-ranges.ts';
import { GracefulStop, unlessStopped, withStopSignal } from '../graceful-stop.ts';
import { rangesOf, reportLines, type Report } from './report.ts';
import { commandText, parseReplayLine, type ReplayLine, type ReplayRequest } from './request.ts';
import { auditReplay, finish, openReplay, refuseRevival, type ReplayStart } from './open-job.ts';
import { replay, type OpenRange, type ReplayJob } from './replay.ts';

/** ms */
const AUDIT_MS = 2000;

/**
 * `./ravand replay …` (docs/replay.md). Exits with 0 when it finished, with 1 when it was stopped.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const line = parseReplayLine(args);
  const { request } = line;
  return withStopSignal((stop) =>
    withConnections({ context, stop }, (connections) =>
      withGracefulStop(stop, (gracefulStop) =>
        request
          ? start(connections, { line, request, gracefulStop })
          : cancel(connections, line, gracefulStop),
      ),
    ).catch(refuseLostJob),
  );
}

async function withGracefulStop(
  stop: AbortSignal,
  work: (gracefulStop: GracefulStop) => Promise<number>,
): Promise<number> {
  const gracefulStop = new GracefulStop({ stop });
  try {
    const code = await unlessStopped(gracefulStop, work(gracefulStop));
    if (code === undefined) printError('stopped; run the same command to resume');
    return code ?? 1;
  } finally {
    gracefulStop.close();
  }
}

async function start(
  connections: Connections,
  { line, request, gracefulStop }: ReplayStart,
): Promise<number> {
  await gracefulStop.run(requireAgreedLog(connections, [request.topic, TOPIC.raw, TOPIC.verdicts]));
  const { job, bounded } = await gracefulStop.run(
    openReplay(connections, { line, request, gracefulStop }),
  );
  const startedAt = performance.now();
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
  if (job && !result.stopped)
    await finish(connections, { job, request, counts: result.counts, state: 'finished' });
  else if (job) await auditStop(connections, job, request, result.counts);
  const report: Report = {
    ...{
      command: commandText(request),
      dry_run: line.dryRun,
      state: result.stopped ? 'stopped' : 'finished',
    },
    ...{ job: job?.id ?? null, ranges: rangesOf(bounded.ranges), left_to_live: bounded.leftToLive },
    ...{
      counts: result.counts,
      differences: result.differences,
      profiles: null,
      seconds: (performance.now() - startedAt) / 1000,
    },
  };
  if (line.json) print(JSON.stringify(report));
  else for (const one of reportLines(report)) print(one);
  return result.stopped ? 1 : 0;
}

/** An operator who stops because PostgreSQL does not answer must not wait for PostgreSQL. */
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

/** Ends an unfinished replay: completes its open range, part of which may be stored already. */
async function cancel(
  connections: Connections,
  line: ReplayLine,
  gracefulStop: GracefulStop,
): Promise<number> {
  const target = line.into === undefined ? 'events' : `events_${line.into}`;
  const open = await runningJob<PartitionRange[], Record<string, number>, OpenRange, never>(
    connections.database,
    target,
  );
  if (!open?.command.startsWith('replay ')) throw new CommandError(`no replay writes ${target}`);
  refuseRevival(open);
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
  await finish(connections, { job, request, counts: result.counts, state: 'cancelled' });
  if (line.json)
    print(
      JSON.stringify({
        job: job.id,
        command: open.command,
        state: 'cancelled',
        counts: result.counts,
        profiles: null,
      }),
    );
  else
    print(
      `job ${job.id} is cancelled after ${result.counts.new} added rows: ./ravand ${open.command}`,
    );
  return 0;
}
