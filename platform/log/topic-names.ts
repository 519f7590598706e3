import { connectPostgres } from '../postgres/pool.ts';
import type { Log } from '../log.ts';
import { readLayout } from './layout.ts';

/** PostgreSQL's undefined_table: this database has no layout yet. */
const NO_TABLE = '42P01';

/**
 * The physical names of topics that differ from their logical ones, over a connection of its own.
 * Rejects while PostgreSQL is unreachable.
 */
export async function topicNamesOf({
  url,
  log,
}: {
  url: string;
  log: Log;
}): Promise<Readonly<Record<string, string>>> {
  const database = connectPostgres({ url, log, name: 'ravand-layout', max: 1 });
  try {
    return (await readLayout(database))?.topics ?? {};
  } catch (error) {
    if ((error as { code?: string }).code === NO_TABLE) return {};
    throw error;
  } finally {
    await database.end();
  }
}
