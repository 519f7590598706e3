import type { DelegateContext } from '../../local/commands/delegate.ts';
import { Refusal } from '../../local/command.ts';
import { complain, print } from '../../local/terminal.ts';
import { startProgress } from '../../local/traffic/progress.ts';
import { committedOffsets } from '../../../platform/kafka/admin.ts';
import { LAST_INDEX } from '../../../pipeline/replay/place.ts';
import { createBeside } from './beside.ts';
import { withConnections, type Connections } from './connections.ts';
import { noCounts } from './counts.ts';
import { beginJob, JobLost, OwnedJob, runningJob, takeOverJob } from './job-ledger.ts';
import { takenUpTo } from './log-bounds.ts';
import { belowBounds, spansOf, type Span } from './log-spans.ts';
import { refoldNames } from './refold.ts';
import { rangesOf, reportLines, type Report } from './report.ts';
import { commandText, parseReplayLine, type ReplayLine, type ReplayRequest } from './request.ts';
import { auditReplay, replay, type ReplayJob } from './run.ts';
import { waitForRefolds } from './wait-for-refolds.ts';

/** `./ravand replay …` (docs/replay.md). Answers 0 when it came to its end, 1 when it was stopped. */
export async function run(args: string[], context: DelegateContext): Promise<number> {
  const line = parseReplayLine(args);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  try {
    return await withConnections(context, (connections) =>
      line.request ? start(connections, line, line.request, stop.signal) : cancel(connections, line),
    );
  } catch (error) {
    if (error instanceof JobLost) throw new Refusal('another process continues this replay: this one has stopped');
    throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, onSignal);
  }
}

async function start(connections: Connections, line: ReplayLine, request: ReplayRequest, stop: AbortSignal): Promise<number> {
  const { database, clickhouse, settings } = connections;
  const began = performance.now();
  const target = request.into === undefined ? 'events' : `events_${request.into}`;
  const command = commandText(request);
  const open = await runningJob<Span[], Record<string, number>, never, never>(database, target);
  if (!line.dryRun && open && open.command !== command)
    throw new Refusal(
      `./ravand ${open.command} is not finished and writes ${target} too: run it again to continue it, or ./ravand replay --cancel${request.into === undefined ? '' : ` --into ${request.into}`}`,
    );
  const bounded = open && !line.dryRun ? { spans: open.plan, held: 0 } : await boundedSpans(connections, request);
  if (request.into !== undefined && !line.dryRun) await createBeside({ client: clickhouse, settings, table: 'events', suffix: request.into });
  if (request.into !== undefined && line.dryRun) await requireTable(connections, target);
  let job: ReplayJob | undefined;
  if (!line.dryRun) {
    job = open
      ? await takeOverJob(database, open.id)
      : await beginJob(database, { kind: 'replay', command, target, plan: bounded.spans, counts: noCounts() });
    await auditReplay(connections, open ? 'replay.continued' : 'replay.started', job, request);
    if (open && !line.json) print(`continues job ${job.id}, which began ${new Date(job.startedAt).toISOString()}`);
  }
  const total = bounded.spans.reduce((sum, { partition, from, to }) => sum + Math.max(0, to - Math.max(from, job?.positions[partition] ?? from)), 0);
  const progress = line.json ? undefined : startProgress({ total, unit: 'records', now: () => Date.now() });
  const result = await replay({
    ...{ connections, request, spans: bounded.spans, job, rate: line.rate, stop },
    progress: (_, records) => progress?.advance(records),
  });
  progress?.end();
  const profiles = job && !result.stopped && target === 'events' ? await refold(connections, job, line) : null;
  if (job && !result.stopped) await finish(connections, job, request, result.counts, 'finished');
  else if (job) await auditReplay(connections, 'replay.stopped', job, request, result.counts);
  const report: Report = {
    ...{ command, dry_run: line.dryRun, state: result.stopped ? 'stopped' : 'finished', job: job?.id ?? null, ranges: rangesOf(bounded.spans) },
    ...{ left_to_live: bounded.held, counts: result.counts, differences: result.differences, profiles, seconds: (performance.now() - began) / 1000 },
  };
  if (line.json) print(JSON.stringify(report));
  else for (const one of reportLines(report)) print(one);
  return result.stopped ? 1 : 0;
}

/** The offsets of the request that the live processors are done with. */
async function boundedSpans(connections: Connections, request: ReplayRequest): Promise<{ spans: Span[]; held: number }> {
  const { admin, settings } = connections;
  const spans = await spansOf(admin, request);
  if (request.topic === 'events.dead') return { spans, held: 0 };
  if (request.topic === 'events.raw') {
    const bounds = await takenUpTo({ settings, admin, signal: new AbortController().signal }, 'events-sink');
    return belowBounds(spans, bounds);
  }
  const taken = await committedOffsets(admin, 'events-sink', request.topic);
  return belowBounds(spans, new Map(spans.map(({ partition }) => [partition, { offset: (taken.get(partition) ?? 0) - 1, index: LAST_INDEX }])));
}

async function requireTable({ clickhouse }: Connections, table: string): Promise<void> {
  const answer = await clickhouse.query({ query: `EXISTS TABLE ${table}`, format: 'JSONEachRow' });
  const [row] = await answer.json<{ result: number }>();
  if (row?.result !== 1) throw new Refusal(`there is no table ${table} yet: all events of the range would be new in it`);
}

/** Names whose profile lacks what was added are folded anew; the owners of their partitions take them over within seconds. */
async function refold(connections: Connections, job: ReplayJob, line: ReplayLine): Promise<Report['profiles']> {
  const owned = new OwnedJob(connections.database, job);
  try {
    let scanned = 0;
    const progress = (records: number) => {
      scanned += records;
      if (!line.json && scanned === records) complain('folding the profiles of added events anew, from the beginning of events.raw');
    };
    const refolded = await refoldNames(connections, job.id, { signal: new AbortController().signal, progress });
    return { ...refolded, waiting: refolded.asked === 0 ? 0 : await waitForRefolds(connections.database, 30_000) };
  } finally {
    owned.close();
  }
}

async function finish(
  connections: Connections,
  job: ReplayJob,
  request: ReplayRequest,
  counts: ReplayJob['counts'],
  state: 'finished' | 'cancelled',
): Promise<void> {
  const owned = new OwnedJob(connections.database, job);
  await owned.update({ state, counts }).finally(() => owned.close());
  await auditReplay(connections, `replay.${state}`, job, request, counts);
}

/** Ends an unfinished replay: what it was writing is completed, since part of it may be stored, and nothing more is begun. */
async function cancel(connections: Connections, line: ReplayLine): Promise<number> {
  const target = line.into === undefined ? 'events' : `events_${line.into}`;
  const open = await runningJob<Span[], Record<string, number>, never, never>(connections.database, target);
  if (!open?.command.startsWith('replay ')) throw new Refusal(`no replay writes ${target}`);
  const job: ReplayJob = await takeOverJob(connections.database, open.id);
  const words = open.command.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  const { request } = parseReplayLine(words.slice(1).map((word) => (word.startsWith('"') ? (JSON.parse(word) as string) : word)));
  if (!request) throw new Error(`job ${open.id} has a command that cannot be read`);
  const result = await replay({
    connections,
    request,
    spans: [],
    job,
    rate: undefined,
    stop: new AbortController().signal,
    closeOnly: true,
    progress: () => undefined,
  });
  const profiles = target === 'events' ? await refold(connections, job, line) : null;
  await finish(connections, job, request, result.counts, 'cancelled');
  if (line.json) print(JSON.stringify({ job: job.id, command: open.command, state: 'cancelled', counts: result.counts, profiles }));
  else print(`job ${job.id} is cancelled after ${result.counts.new} added rows: ./ravand ${open.command}`);
  return 0;
}
