import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/pool.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';

/**
 * Records, and claims in Redis, that are written as every reader of the installation knows them:
 * the newest version. Claims of version 2 are packed; raw records of version 2 are sent in batches.
 */
export const NEWEST_WRITTEN = {
  'event-row': NEWEST_ROW_VERSION,
  'ingest-outcome': 2,
  claims: 2,
  'raw-batch': 2,
} as const;
export type WrittenSubject = keyof typeof NEWEST_WRITTEN;

/** Every release that can run beside this one reads this version. */
const OLDEST = 1;
/** Writers of a version follow a change within this time, ms. */
export const WRITTEN_POLL_MS = 5000;

/** The version that is to be written. Rejects without PostgreSQL. */
export async function readWritten(
  database: Pick<Database, 'query'>,
  subject: WrittenSubject,
): Promise<number> {
  const { rows } = await database.query<{ version: number }>(
    'SELECT version FROM written_schemas WHERE subject = $1',
    [subject],
  );
  return rows[0]?.version ?? OLDEST;
}

/** Advances the version to that of this release; it never becomes lower. */
export async function advanceWritten(
  database: Pick<Database, 'query'>,
  subject: WrittenSubject,
): Promise<void> {
  await database.query(
    `INSERT INTO written_schemas AS w (subject, version) VALUES ($1, $2)
     ON CONFLICT (subject) DO UPDATE SET version = greatest(w.version, excluded.version),
       changed_at = CASE WHEN excluded.version > w.version THEN now() ELSE w.changed_at END`,
    [subject, NEWEST_WRITTEN[subject]],
  );
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
export function watchWritten(
  subject: WrittenSubject,
  { database, log, signal }: WatchOptions,
): () => number {
  let version = OLDEST;
  const follow = async () => {
    while (!signal.aborted) {
      try {
        const recorded = Math.min(await readWritten(database, subject), NEWEST_WRITTEN[subject]);
        if (recorded !== version)
          log.info({ subject, version: recorded }, 'writes another version of a schema');
        version = recorded;
      } catch (error) {
        log.debug({ err: error, subject }, 'cannot read the version to write; retrying');
      }
      await delay(WRITTEN_POLL_MS, signal).catch(() => undefined);
    }
  };
  void follow();
  return () => version;
}
