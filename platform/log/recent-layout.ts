import type { Database } from '../postgres/pool.ts';
import { LAYOUT_COLUMNS, layoutOf, type LayoutRow, type LogLayout } from './layout.ts';

/** What this process read last, and when, as performance.now(). */
let last: { layout: LogLayout; at: number } | undefined;
/** When it last found that no erasure is in progress. */
let foundAt = Number.NEGATIVE_INFINITY;

const READ = `SELECT ${LAYOUT_COLUMNS}, EXISTS (SELECT 1 FROM erasures WHERE state <> 'rewritten') AS has_erasures,
    (SELECT count(*)::int FROM log_epochs) AS epochs
  FROM log_layout`;

/** The layout, and how many epochs have begun in any topic: their number never becomes lower. */
export interface ReadLayout extends LogLayout {
  epochs: number;
}

/**
 * The recorded layout, as readLayout() answers it, and beside it whether erasures are in progress:
 * while there are none, this is all that an idle process asks about either. Rejects when PostgreSQL
 * does.
 */
export async function readLayoutAndErasures(
  database: Pick<Database, 'query'>,
): Promise<ReadLayout | undefined> {
  const at = performance.now();
  const { rows } = await database.query<LayoutRow & { has_erasures: boolean; epochs: number }>(
    READ,
  );
  const [row] = rows;
  if (!row) return undefined;
  const { has_erasures: areThere, epochs, ...rest } = row;
  foundAt = areThere ? Number.NEGATIVE_INFINITY : at;
  const layout = layoutOf(rest);
  last = { layout, at };
  return { ...layout, epochs };
}

/** The layout, when this process read it less than `ms` ago for whatever purpose. */
export function recentLayout(ms: number): LogLayout | undefined {
  return last && performance.now() - last.at < ms ? last.layout : undefined;
}

/** How long ago it was found that no erasure is in progress, ms; Infinity: nobody knows. */
export function erasuresAbsentSince(): number {
  return performance.now() - foundAt;
}
