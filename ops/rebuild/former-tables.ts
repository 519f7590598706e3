import { CommandError } from '../../cli/command.ts';
import { dropShadowTable, renameShadowTable } from '../jobs/shadow-table.ts';
import { tableId, tableNamed } from '../jobs/table-ids.ts';
import type { Connections } from '../jobs/connections.ts';
import type { RebuildCounts, RebuildPlan } from './rebuild-job.ts';
import { PROJECTION } from './projections.ts';
import type { RebuildLine } from './request.ts';
import type { RebuildProgress } from '../../projections/rebuild-target.ts';

/** A swap, with the table that it replaced. */
export interface Swapped {
  job: number;
  /** ms since the epoch */
  at: number;
  plan: RebuildPlan;
  positions: Record<string, RebuildProgress>;
  counts: RebuildCounts;
}

/** A replaced table is kept at least so long; the next rebuild of the projection then drops it. */
export const KEPT_DAYS = 7;
const DAY = 86_400_000;

interface Row {
  id: string;
  plan: RebuildPlan;
  positions: Record<string, RebuildProgress>;
  counts: RebuildCounts;
}

/** Swaps of a projection whose former table is known, latest first. */
async function swaps({ database }: Connections, projection: string): Promise<Swapped[]> {
  const { rows } = await database.query<Row>(
    `SELECT id, plan, positions, counts FROM log_jobs WHERE kind = 'rebuild' AND plan ->> 'projection' = $1
       AND counts ->> 'former' IS NOT NULL AND counts ->> 'swapped_at' IS NOT NULL ORDER BY counts ->> 'swapped_at' DESC`,
    [projection],
  );
  return rows.map(({ id, plan, positions, counts }) => ({
    ...{ job: Number(id), at: Date.parse(counts.swapped_at ?? ''), plan, positions, counts },
  }));
}

/** The latest swap and the name of its former table. Rejects with CommandError without one. */
export async function lastSwap(
  connections: Connections,
  projection: RebuildLine['projection'],
): Promise<Swapped & { former: string }> {
  const { table } = PROJECTION[projection];
  const [last] = await swaps(connections, projection);
  const former = last && (await tableNamed(connections, last.counts.former ?? ''));
  if (!last || former === undefined)
    throw new CommandError(`there is no swap of ${projection} whose former table is kept`);
  if ((await tableId(connections, table)) !== last.counts.exchanging)
    throw new CommandError(
      `${table} is not the table that job ${last.job} swapped in: nothing was changed`,
    );
  const [missing] = await missingColumns(connections, { table, former });
  if (missing !== undefined)
    throw new CommandError(
      `${former} lacks the column ${missing}, which a migration added to ${table} since: rebuild instead`,
    );
  return { ...last, former };
}

async function missingColumns(
  { clickhouse, settings }: Connections,
  { table, former }: { table: string; former: string },
): Promise<string[]> {
  const answer = await clickhouse.query({
    query: `SELECT name FROM system.columns WHERE database = {database:String} AND table = {table:String}
      AND name NOT IN (SELECT name FROM system.columns WHERE database = {database:String} AND table = {former:String})`,
    query_params: { database: settings.CLICKHOUSE_DATABASE, table, former },
    format: 'JSONEachRow',
  });
  return (await answer.json<{ name: string }>()).map(({ name }) => name);
}

/**
 * Makes room for a new table `<table>_<suffix>`: a former table of that name gets the name
 * `<table>_former_<job>`, any other one is dropped. Also drops former tables of older swaps.
 * Resolves with one sentence for each.
 */
export async function makeRoom(connections: Connections, line: RebuildLine): Promise<string[]> {
  const { clickhouse: client, settings } = connections;
  const { table } = PROJECTION[line.projection];
  const shadow = { client, settings, table };
  const done: string[] = [];
  const name = `${table}_${line.suffix}`;
  for (const { job, at, counts } of await swaps(connections, line.projection)) {
    const former = await tableNamed(connections, counts.former ?? '');
    if (former === undefined || !former.startsWith(`${table}_`)) continue;
    const suffix = former.slice(table.length + 1);
    if (Date.now() - at > KEPT_DAYS * DAY) {
      await dropShadowTable({ ...shadow, suffix });
      done.push(`${former}, which job ${job} replaced more than ${KEPT_DAYS} days ago, is dropped`);
    } else if (former === name) {
      await renameShadowTable({ ...shadow, suffix }, `former_${job}`);
      done.push(`${former}, which job ${job} replaced, is now ${table}_former_${job}`);
    }
  }
  await dropShadowTable({ ...shadow, suffix: line.suffix });
  return done;
}
