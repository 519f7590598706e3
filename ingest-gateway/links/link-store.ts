import { withDeadline } from '../../platform/deadline.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** Clicks on one code. */
export interface Clicks {
  count: number;
  /** Of the last click, ms since the epoch. */
  lastAt: number;
}

/** Short links in PostgreSQL; every method rejects when it is unreachable. */
export interface LinkStore {
  /** Targets by code. */
  targets(codes: readonly string[]): Promise<Map<string, string>>;
  addClicks(clicks: ReadonlyMap<string, Clicks>): Promise<void>;
}

/** Longest wait of a visitor for the store, ms. */
const LOOKUP_DEADLINE = { ms: 2000, waitingFor: 'short links in PostgreSQL' };

export function connectLinkStore(database: Pick<Database, 'query'>): LinkStore {
  return {
    async targets(codes) {
      const query = database.query<{ code: string; target: string }>(
        'SELECT code, target FROM short_links WHERE code = ANY($1::text[])',
        [[...codes]],
      );
      const { rows } = await withDeadline(LOOKUP_DEADLINE, query);
      return new Map(rows.map(({ code, target }) => [code, target]));
    },
    async addClicks(clicks) {
      const all = [...clicks].toSorted(([a], [b]) => (a < b ? -1 : 1));
      // In the order of their codes, as connection-store.ts does with its counters.
      await database.query(
        `WITH locked AS (SELECT code FROM short_links WHERE code = ANY($1::text[]) ORDER BY code FOR NO KEY UPDATE)
         UPDATE short_links l
         SET clicks = l.clicks + c.count, last_click_at = greatest(l.last_click_at, to_timestamp(c.last_at / 1000.0))
         FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS c (code, count, last_at)
           JOIN locked ON locked.code = c.code
         WHERE l.code = c.code`,
        [
          all.map(([code]) => code),
          all.map(([, { count }]) => count),
          all.map(([, { lastAt }]) => lastAt),
        ],
      );
    },
  };
}
