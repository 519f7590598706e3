import type { Database } from '../../platform/postgres/pool.ts';

/** Tokens in messages are valid so long (0053_tracking.sql), and a day for clocks. */
const KEPT_DAYS = 401;
const ROWS_PER_STATEMENT = 5000;

/**
 * Removes to whom messages were sent once no token names them any more, in small statements, oldest
 * first. Resolves with the number of rows.
 */
export async function sweepRecipients(
  database: Pick<Database, 'query'>,
  signal: AbortSignal,
): Promise<number> {
  for (let removed = 0; ;) {
    signal.throwIfAborted();
    const { rows } = await database.query<{ count: number }>(
      `WITH old AS (
         SELECT account_id, ref FROM message_recipients
         WHERE created_at < now() - interval '${KEPT_DAYS} days' ORDER BY created_at LIMIT ${ROWS_PER_STATEMENT}
       ), removed AS (
         DELETE FROM message_recipients r USING old o WHERE r.account_id = o.account_id AND r.ref = o.ref RETURNING 1
       ) SELECT count(*)::int AS count FROM removed`,
    );
    const count = rows[0]?.count ?? 0;
    removed += count;
    if (count < ROWS_PER_STATEMENT) return removed;
  }
}

/** Books of gateway processes that have written nothing for so long. */
const BOOKS_DAYS = 90;

/** Removes the books of processes that are gone; what is missing stays. */
export async function sweepCommandBooks(database: Pick<Database, 'query'>): Promise<void> {
  await database.query(
    `DELETE FROM channel_books WHERE updated_at < now() - interval '${BOOKS_DAYS} days' AND written - refused <= applied`,
  );
}
