import { recordAudit } from '../../platform/audit.ts';
import { CommandError } from '../../cli/command.ts';
import { printError } from '../../cli/terminal.ts';
import { createShadowTable, dropShadowTable } from '../jobs/shadow-table.ts';
import { exchangeState, tableId } from '../jobs/table-ids.ts';
import type { Connections } from '../jobs/connections.ts';
import { OwnedJob, startJob, lastJob, runningJob, takeOverJob } from '../jobs/job-ledger.ts';
import type { RebuildCounts, RebuildJob, RebuildPlan } from './rebuild-job.ts';
import { lastSwap, makeRoom } from './former-tables.ts';
import { PROJECTION } from './projections.ts';
import type { RebuildLine } from './request.ts';
import type { OpenRange, RebuildProgress } from '../../projections/rebuild-target.ts';

export interface OpenedJob {
  job: RebuildJob;
  /**
   * Its process was killed after the exchange: the rebuilt table is live, nothing is left to fill.
   */
  isSwapped: boolean;
}

/**
 * Resumes the unfinished or finished job of the table. Starts a new one when the projection cannot
 * resume, when its table is gone, or when it was swapped in.
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
  const isOwn = last?.plan.undoes === undefined;
  if (
    last &&
    isOwn &&
    last.state !== 'cancelled' &&
    last.plan.source === line.source &&
    isResumable
  ) {
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
        printError(isSwapped ? `job ${job.id} had swapped its table in` : `resuming job ${job.id}`);
      return { job, isSwapped };
    }
    if (!isThere && !line.json)
      printError(`the table ${name} is gone: job ${job.id} cannot resume, a new one starts`);
    await cancelJob(connections, job);
  } else if (last?.state === 'running')
    await cancelJob(connections, await takeOverJob(database, last.id));
  return { job: await newJob(connections, line, name), isSwapped: false };
}

interface BegunUndo {
  id: string;
  state: string;
  target: string;
  /** Job whose swap is undone, and when that was. */
  undoes: string;
  swapped_at: string;
  exchanging: string | null;
  former: string | null;
}

/** One that was cancelled goes on, too: its table holds what it has filled. */
const BEGUN_UNDO = `SELECT undo.id, undo.state, undo.target, undone.id AS undoes,
    undone.counts ->> 'swapped_at' AS swapped_at, undo.counts ->> 'exchanging' AS exchanging, undo.counts ->> 'former' AS former
  FROM log_jobs undo JOIN log_jobs undone ON undone.id = (undo.plan ->> 'undoes')::bigint
  WHERE undo.kind = 'rebuild' AND undo.plan ->> 'projection' = $1
    AND undo.counts ->> 'swapped_at' IS NULL ORDER BY undo.id DESC LIMIT 1`;

/**
 * The job that brings the former table of the last swap up to date, from where the swap left it,
 * and exchanges it again. `since`: when that swap happened, ms since the epoch.
 */
export async function openUndo(
  connections: Connections,
  projection: RebuildLine['projection'],
): Promise<OpenedJob & { suffix: string; since: number }> {
  const { database } = connections;
  const { table } = PROJECTION[projection];
  const suffixOf = (name: string) => name.slice(table.length + 1);
  const { rows } = await database.query<BegunUndo>(BEGUN_UNDO, [projection]);
  const [begun] = rows;
  if (begun && (await tableId(connections, table)) === begun.exchanging) {
    const job: RebuildJob = await takeOverJob(database, Number(begun.id));
    const since = Date.parse(begun.swapped_at);
    return { job, isSwapped: true, suffix: suffixOf(begun.target), since };
  }
  if (begun && exchangeState(await tableId(connections, table), begun) === 'partly') {
    const job: RebuildJob = await takeOverJob(database, Number(begun.id));
    return {
      job,
      ...{ isSwapped: false, suffix: suffixOf(begun.target) },
      since: Date.parse(begun.swapped_at),
    };
  }
  const { job: undoes, former, plan, positions, at } = await lastSwap(connections, projection);
  if (begun && Number(begun.undoes) === undoes) {
    // A new rebuild may have taken the name that the former table had.
    await database.query('UPDATE log_jobs SET target = $2 WHERE id = $1', [begun.id, former]);
    const job: RebuildJob = await takeOverJob(database, Number(begun.id));
    return { job, isSwapped: false, suffix: suffixOf(former), since: at };
  }
  if (begun?.state === 'running')
    await cancelJob(connections, await takeOverJob(database, Number(begun.id)));
  const command = `rebuild ${projection} --undo`;
  const started: RebuildJob = await startJob(database, {
    ...{ kind: 'rebuild', command, target: former },
    plan: { projection, source: plan.source, undoes } satisfies RebuildPlan,
    counts: NO_COUNTS,
  });
  const owned = new OwnedJob(database, started);
  await owned.update({ positions }).finally(() => owned.close());
  await recordAudit(database, {
    ...{ accountId: null, actor: 'operator', action: 'rebuild.undo_started' },
    details: { job: started.id, undoes, table: former },
  });
  const job = { ...started, positions };
  return { job, isSwapped: false, suffix: suffixOf(former), since: at };
}

const NO_COUNTS: RebuildCounts = {
  records: 0,
  rows: 0,
  shortest_window: null,
  swapped_at: null,
  exchanging: null,
  former: null,
};

async function newJob(
  connections: Connections,
  line: RebuildLine,
  name: string,
): Promise<RebuildJob> {
  const { database, clickhouse: client, settings } = connections;
  const { table } = PROJECTION[line.projection];
  const command = `rebuild ${line.projection} --into ${line.suffix}`;
  for (const sentence of await makeRoom(connections, line)) if (!line.json) printError(sentence);
  await createShadowTable({ client, settings, table, suffix: line.suffix });
  const counts = NO_COUNTS;
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
 * Cancels the last job of a table that was not swapped in, and drops the table, unless a swap
 * replaced it. Rejects with CommandError when there is none, when a process runs it, or when its
 * table is live and only the rest of the swap is missing.
 */
export async function abandonJob(
  connections: Connections,
  line: RebuildLine,
  name: string,
): Promise<{ id: number; isKept: boolean }> {
  const { database, clickhouse: client, settings } = connections;
  const { table } = PROJECTION[line.projection];
  const last = await lastJob<RebuildPlan, unknown, unknown, RebuildCounts>(
    database,
    'rebuild',
    name,
  );
  if (!last || last.state === 'cancelled')
    throw new CommandError(
      `no rebuild of ${line.projection} into ${name} is unfinished or ready to be swapped in`,
    );
  const job = await takeOverJob<RebuildPlan, unknown, unknown, RebuildCounts>(database, last.id);
  if (exchangeState(await tableId(connections, table), job.counts) !== 'none')
    throw new CommandError(
      `${name} is already live as ${table}: ./ravand rebuild ${line.projection} --into ${line.suffix} --swap completes that`,
    );
  // The table that an undo fills is the only way back from the swap.
  const isKept = job.plan.undoes !== undefined;
  if (!isKept) await dropShadowTable({ client, settings, table, suffix: line.suffix });
  await cancelJob(connections, job);
  await recordAudit(database, {
    accountId: null,
    actor: 'operator',
    action: 'rebuild.cancelled',
    details: { job: job.id, table: name },
  });
  return { id: job.id, isKept };
}

async function cancelJob(
  { database }: Connections,
  job: { id: number; ownerEpoch: number },
): Promise<void> {
  const owned = new OwnedJob(database, job);
  await owned.update({ state: 'cancelled' }).finally(() => owned.close());
}
