import { recordAudit } from '../../platform/audit.ts';
import { CommandError } from '../../cli/command.ts';
import { printError } from '../../cli/terminal.ts';
import { createShadowTable, dropShadowTable, tableId } from '../jobs/shadow-table.ts';
import type { Connections } from '../jobs/connections.ts';
import { OwnedJob, startJob, lastJob, runningJob, takeOverJob } from '../jobs/job-ledger.ts';
import type { RebuildCounts, RebuildJob, RebuildPlan } from './fill.ts';
import { PROJECTION } from './projections.ts';
import type { RebuildLine } from './request.ts';
import type { OpenRange, RebuildProgress } from '../../projections/rebuild-target.ts';

export interface OpenedJob {
  job: RebuildJob;
  /**
   * Its process was killed when the rebuilt table was the live one already: nothing is left to
   * fill.
   */
  isSwapped: boolean;
}

/**
 * The unfinished or finished job of the table goes on; where its rows cannot, are gone, or were
 * swapped in, it begins anew.
 */
export async function openJob(
  connections: Connections,
  line: RebuildLine,
  name: string,
): Promise<OpenedJob> {
  const { database } = connections;
  const { table } = PROJECTION[line.projection];
  const last = await lastJob<
    RebuildPlan,
    Record<string, RebuildProgress>,
    Record<string, OpenRange>,
    RebuildCounts
  >(database, 'rebuild', name);
  const other = await runningJob<unknown, unknown, unknown, unknown>(database, name);
  if (other && other.id !== last?.id)
    throw new CommandError(`./ravand ${other.command} writes ${name} too and is not finished`);
  const isResumable = line.projection === 'events' || line.projection === 'profiles';
  if (last && last.state !== 'cancelled' && last.plan.source === line.source && isResumable) {
    const job = await takeOverJob<
      RebuildPlan,
      Record<string, RebuildProgress>,
      Record<string, OpenRange>,
      RebuildCounts
    >(database, last.id);
    const isSwapped =
      typeof job.counts.exchanging === 'string' &&
      (await tableId(connections, table)) === job.counts.exchanging;
    const isThere = isSwapped || (await tableId(connections, name)) !== undefined;
    if (isThere && (line.swap || !isSwapped)) {
      if (!line.json)
        printError(
          isSwapped
            ? `job ${job.id} had put its table in the place of the live one`
            : `goes on with job ${job.id}`,
        );
      return { job, isSwapped };
    }
    if (!isThere && !line.json)
      printError(
        `there is no table ${name} any more: job ${job.id} cannot go on, another one begins`,
      );
    await cancelJob(connections, job);
  } else if (last?.state === 'running')
    await cancelJob(connections, await takeOverJob(database, last.id));
  return { job: await newJob(connections, line, name), isSwapped: false };
}

async function newJob(
  connections: Connections,
  line: RebuildLine,
  name: string,
): Promise<RebuildJob> {
  const { database, clickhouse: client, settings } = connections;
  const { table } = PROJECTION[line.projection];
  const command = `rebuild ${line.projection} --into ${line.suffix}`;
  await dropShadowTable({ client, settings, table, suffix: line.suffix });
  await createShadowTable({ client, settings, table, suffix: line.suffix });
  const counts: RebuildCounts = {
    records: 0,
    rows: 0,
    shortest_window: null,
    swapped_at: null,
    exchanging: null,
  };
  const plan: RebuildPlan = { projection: line.projection, source: line.source };
  const job: RebuildJob = await startJob(database, {
    kind: 'rebuild',
    command,
    target: name,
    plan,
    counts,
  });
  await recordAudit(database, {
    accountId: null,
    actor: 'operator',
    action: 'rebuild.started',
    details: { job: job.id, command, source: line.source },
  });
  return job;
}

/**
 * Ends the last job of a table that was not swapped in, and drops the table. Rejects with CommandError
 * when there is none, when a process works on it, or when its table is the live one already and
 * only the rest of the swap is missing.
 */
export async function abandonJob(
  connections: Connections,
  line: RebuildLine,
  name: string,
): Promise<{ id: number }> {
  const { database, clickhouse: client, settings } = connections;
  const { table } = PROJECTION[line.projection];
  const last = await lastJob<RebuildPlan, unknown, unknown, RebuildCounts>(
    database,
    'rebuild',
    name,
  );
  if (!last || last.state === 'cancelled')
    throw new CommandError(
      `no rebuild of ${line.projection} into ${name} is unfinished or waits to be swapped in`,
    );
  const job = await takeOverJob<RebuildPlan, unknown, unknown, RebuildCounts>(database, last.id);
  if (
    typeof job.counts.exchanging === 'string' &&
    (await tableId(connections, table)) === job.counts.exchanging
  )
    throw new CommandError(
      `${name} has taken the place of ${table} already: ./ravand rebuild ${line.projection} --into ${line.suffix} --swap completes that`,
    );
  await dropShadowTable({ client, settings, table, suffix: line.suffix });
  await cancelJob(connections, job);
  await recordAudit(database, {
    accountId: null,
    actor: 'operator',
    action: 'rebuild.cancelled',
    details: { job: job.id, table: name },
  });
  return job;
}

async function cancelJob(
  { database }: Connections,
  job: { id: number; ownerEpoch: number },
): Promise<void> {
  const owned = new OwnedJob(database, job);
  await owned.update({ state: 'cancelled' }).finally(() => owned.close());
}
