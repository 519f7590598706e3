import type { Queries } from '../audited-change.ts';
import { COUNTS } from './book-counts.ts';

/**
 * Reconciliation of the installation or of one account (ARCHITECTURE.md, G6). received = rejected +
 * duplicate + published + spooled; published = stored + dead + lost + in_flight.
 */
export interface ReconciliationCounts {
  received: number;
  published: number;
  duplicate: number;
  rejected: number;
  spooled: number;
  stored: number;
  dead: number;
  /** Gone from the log before they were stored (`./ravand log advance-epoch`). */
  lost: number;
  in_flight: number;
}

/**
 * The counts as of the last reconciliation, a few seconds old at most: one row an account, however
 * many minutes it has.
 * @param spooled accepted events that are in the spools of gateways now
 */
export async function readReconciliation(
  database: Queries,
  options: { accountId?: number; spooled: number },
): Promise<ReconciliationCounts> {
  const columns = [...COUNTS, 'stored'] as const;
  const answer = await database.query<Record<(typeof columns)[number] | 'lost', number>>(
    `SELECT ${columns.map((name) => `coalesce(sum(${name}), 0)::float8 AS ${name}`).join(', ')},
       (SELECT coalesce(sum(lost), 0)::float8 FROM book_losses WHERE $1::bigint IS NULL OR account_id = $1) AS lost FROM book_totals WHERE $1::bigint IS NULL OR account_id = $1`,
    [options.accountId ?? null],
  );
  const row = answer.rows[0];
  if (!row) throw new Error('a sum without GROUP BY gave no row');
  const published = row.places - row.repeats - row.duplicates_after;
  const duplicate = row.duplicates_before + row.duplicates_after;
  const stored = row.stored + row.expired;
  return {
    received: row.rejected + duplicate + published + options.spooled,
    published,
    duplicate,
    rejected: row.rejected,
    spooled: options.spooled,
    stored,
    dead: row.dead,
    lost: row.lost,
    in_flight: published - stored - row.dead - row.lost,
  };
}
