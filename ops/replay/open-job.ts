import { TOPIC } from '../../schemas/topology.ts';
import { CommandError } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { committedOffsets } from '../../platform/kafka/admin.ts';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import { createShadowTable } from '../jobs/shadow-table.ts';
import { tableId } from '../jobs/table-ids.ts';
import { type Connections } from '../jobs/connections.ts';
import { recordAudit } from '../../platform/audit.ts';
import { emptyCounts, type ReplayCounts } from './classify.ts';
import { OwnedJob, startJob, runningJob, takeOverJob } from '../jobs/job-ledger.ts';
import { cutAtBounds, requestedRanges, type PartitionRange } from './log-ranges.ts';
import { processedUpTo } from '../../platform/log/processed-up-to.ts';
import type { GracefulStop } from '../graceful-stop.ts';
import { commandText, type ReplayLine, type ReplayRequest } from './request.ts';
import type { OpenRange, ReplayJob } from './replay.ts';

export interface ReplayStart {
  line: ReplayLine;
  request: ReplayRequest;
  gracefulStop: GracefulStop;
}

/** The command that ends an unfinished job of a table. */
function cancelOf(command: string, { into }: ReplayRequest): string {
  if (!command.startsWith('replay ')) return `${command} --cancel`;
  return `replay --cancel${into === undefined ? '' : ` --into ${into}`}`;
}

/**
 * Replays of earlier releases revived dead letters. What such a replay was writing when it was
 * killed, only that release completes: its rows are stored, or they still count as dead. Throws
 * CommandError.
 */
export function refuseRevival({ id, command, recorded }: RevivingJob): void {
  const revives = command.includes(`--topic ${TOPIC.dead}`) || (recorded?.dead ?? []).length > 0;
  if (recorded && revives)
    throw new CommandError(
      `job ${id} (./ravand ${command}) was reviving dead letters, which only the release that began it completes: end it there with ./ravand replay --cancel`,
    );
}

type RevivingJob = Pick<ReplayJob, 'id' | 'command' | 'recorded'>;

/** Starts or takes over the job of the request, and determines its ranges. */
export async function openReplay(
  connections: Connections,
  { line, request, gracefulStop }: ReplayStart,
): Promise<{ job: ReplayJob | undefined; bounded: BoundedRanges }> {
  const { database, clickhouse, settings } = connections;
  const target = request.into === undefined ? 'events' : `events_${request.into}`;
  const command = commandText(request);
  let open = await runningJob<PartitionRange[], Record<string, number>, OpenRange, never>(
    database,
    target,
  );
  if (!line.dryRun && open && open.command !== command)
    throw new CommandError(
      `./ravand ${open.command} is not finished and writes ${target} too: run it again to resume it, or ./ravand ${cancelOf(open.command, request)} to cancel it`,
    );
  if (open && !line.dryRun) refuseRevival(open);
  if (open && !line.dryRun && (await tableId(connections, target)) === undefined) {
    // Its rows are gone, so it cannot resume.
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
      print(`resuming job ${job.id}, started ${new Date(job.startedAt).toISOString()}`);
  }
  return { job, bounded };
}

/** `held`: records that are left to the live processors. */
interface BoundedRanges {
  ranges: PartitionRange[];
  leftToLive: number;
}

/** The requested ranges, cut at what the live services have processed. */
async function boundedRanges(
  connections: Connections,
  request: ReplayRequest,
  signal: AbortSignal,
): Promise<BoundedRanges> {
  const { admin, settings } = connections;
  const ranges = await requestedRanges(admin, request);
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
    throw new CommandError(`there is no table ${table} yet: all events of the range would be new`);
}

interface Finish {
  job: ReplayJob;
  request: ReplayRequest;
  counts: ReplayJob['counts'];
  state: 'finished' | 'cancelled';
}

export async function finish(
  connections: Connections,
  { job, request, counts, state }: Finish,
): Promise<void> {
  const owned = new OwnedJob(connections.database, job);
  await owned.update({ state, counts }).finally(() => owned.close());
  await auditReplay(connections, `replay.${state}`, job, request, counts);
}

/** Records the start or the end of a replay in the audit log. */
export async function auditReplay(
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
