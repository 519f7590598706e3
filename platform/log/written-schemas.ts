import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/pool.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';

/** Every release that can run beside this one reads rows of this version. */
const OLDEST = 1;
/** Writers of a version follow a change within this time, ms. */
export const WRITTEN_POLL_MS = 5000;

const READ = `SELECT version FROM written_schemas WHERE subject = 'event-row'`;

/** The version of event-row that is to be written. Rejects without PostgreSQL. */
export async function readWrittenRows(database: Pick<Database, 'query'>): Promise<number> {
  const { rows } = await database.query<{ version: number }>(READ);
  return rows[0]?.version ?? OLDEST;
}

/** Advances the version; it never becomes lower. Resolves with the recorded one. */
export async function advanceWrittenRows(
  database: Pick<Database, 'query'>,
  version: number,
): Promise<number> {
  const { rows } = await database.query<{ version: number }>(
    `INSERT INTO written_schemas AS w (subject, version) VALUES ('event-row', $1)
     ON CONFLICT (subject) DO UPDATE SET version = greatest(w.version, excluded.version),
       changed_at = CASE WHEN excluded.version > w.version THEN now() ELSE w.changed_at END
     RETURNING version`,
    [version],
  );
  return rows[0]?.version ?? OLDEST;
}

interface WatchOptions {
  database: Pick<Database, 'query'>;
  log: Log;
  signal: AbortSignal;
}

/**
 * Follows the recorded version until the signal aborts, and returns what to write now: the oldest
 * version until PostgreSQL has answered, and never one that this release does not have.
 */
export function watchWrittenRows({ database, log, signal }: WatchOptions): () => number {
  let version = OLDEST;
  const follow = async () => {
    while (!signal.aborted) {
      try {
        const recorded = Math.min(await readWrittenRows(database), NEWEST_ROW_VERSION);
        if (recorded !== version) log.info({ version: recorded }, 'writes rows of another version');
        version = recorded;
      } catch (error) {
        log.debug({ err: error }, 'cannot read the version of rows to write; retrying');
      }
      await delay(WRITTEN_POLL_MS, signal).catch(() => undefined);
    }
  };
  void follow();
  return () => version;
}
