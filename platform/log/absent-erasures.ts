import type { Database } from '../postgres/pool.ts';
import { LAYOUT_COLUMNS, layoutOf, type LayoutRow, type LogLayout } from './layout.ts';

/** When this process last found that no erasure is in progress, as performance.now(). */
let foundAt = Number.NEGATIVE_INFINITY;

const READ = `SELECT ${LAYOUT_COLUMNS}, EXISTS (SELECT 1 FROM erasures WHERE state <> 'rewritten') AS has_erasures
  FROM log_layout`;

/**
 * The recorded layout, as readLayout() answers it, and beside it whether erasures are in progress:
 * while there are none, this is all that an idle process asks about either. Rejects when PostgreSQL
 * does.
 */
export async function readLayoutAndErasures(
  database: Pick<Database, 'query'>,
): Promise<LogLayout | undefined> {
  const at = performance.now();
  const { rows } = await database.query<LayoutRow & { has_erasures: boolean }>(READ);
  const [row] = rows;
  if (!row) return undefined;
  const { has_erasures: areThere, ...layout } = row;
  foundAt = areThere ? Number.NEGATIVE_INFINITY : at;
  return layoutOf(layout);
}

/** How long ago it was found that no erasure is in progress, ms; Infinity: nobody knows. */
export function erasuresAbsentSince(): number {
  return performance.now() - foundAt;
}
