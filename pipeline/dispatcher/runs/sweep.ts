import type { Database } from '../../../platform/postgres/pool.ts';

/** Of an ended run: `./ravand why` and late statements may still ask for them. */
const KEPT = `interval '1 day'`;

/**
 * The runs with rows in a table that ended some time ago, or are gone; $1 most. The tables are
 * read run by run: most runs that have ended have no rows any more.
 */
function removeOfEnded(table: string, rowsOfRun: string): string {
  return `WITH RECURSIVE present AS (
      SELECT (SELECT min(run_id) FROM ${table}) AS run_id
      UNION ALL
      SELECT (SELECT min(t.run_id) FROM ${table} t WHERE t.run_id > p.run_id) FROM present p WHERE p.run_id IS NOT NULL
    ), ended AS (
      SELECT p.run_id FROM present p LEFT JOIN campaign_runs r ON r.id = p.run_id
      WHERE p.run_id IS NOT NULL AND (r.id IS NULL OR (r.state NOT IN ('scheduled', 'confirm', 'planning', 'sending') AND r.finished_at < clock_timestamp() - ${KEPT}))
    ), old AS (
      SELECT t.run_id, t.${rowsOfRun} FROM ended e JOIN ${table} t ON t.run_id = e.run_id LIMIT $1
    )
    DELETE FROM ${table} t USING old WHERE t.run_id = old.run_id AND t.${rowsOfRun} = old.${rowsOfRun}`;
}

const TABLES = {
  message_chunks: removeOfEnded('message_chunks', 'chunk'),
  campaign_run_merged: removeOfEnded('campaign_run_merged', 'person'),
};

/** Rows of one statement: a chunk takes some 50 KB. */
const ROWS = { message_chunks: 500, campaign_run_merged: 5000 };

/** Removes what runs needed while they sent, until nothing is left or the signal aborts. */
export async function sweepEndedRuns(
  database: Pick<Database, 'query'>,
  signal: AbortSignal,
): Promise<void> {
  for (const table of ['message_chunks', 'campaign_run_merged'] as const)
    for (let removed = ROWS[table]; removed === ROWS[table] && !signal.aborted;)
      removed = (await database.query(TABLES[table], [ROWS[table]])).rowCount ?? 0;
}
