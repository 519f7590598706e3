import type { Database } from '../../platform/postgres/pool.ts';

/** Somebody, by a hash of one of their distinct ids. */
export interface Visitor {
  accountId: number;
  /** 16 hexadecimal digits (events/channels/onsite/visitor.ts). */
  hash: string;
}

/** A visitor as one text. */
export type VisitorId = `${number} ${string}`;

/** When campaigns were shown, ms since the epoch, by campaign. */
export type ShownAt = ReadonlyMap<number, number>;

export interface Showing extends Visitor {
  campaignId: number;
  /** ms since the epoch */
  at: number;
}

/** Who has seen which campaign, in PostgreSQL; both reject when it is unreachable. */
export interface ShownStore {
  of(visitors: readonly VisitorId[]): Promise<Map<VisitorId, Map<number, number>>>;
  add(showings: readonly Showing[]): Promise<void>;
}

export function visitorId({ accountId, hash }: Visitor): VisitorId {
  return `${accountId} ${hash}`;
}

/** Rows of an account; beyond them only the SDK knows whom it has shown a campaign. */
const MAX_ROWS = 5_000_000;

export function connectShownStore(
  database: Pick<Database, 'query'>,
  { maxRows = MAX_ROWS }: { maxRows?: number } = {},
): ShownStore {
  return {
    async of(visitors) {
      const { rows } = await database.query<{
        account_id: string;
        hash: string;
        campaign_id: string;
        shown_at: Date;
      }>(
        `SELECT s.account_id, encode(s.visitor, 'hex') AS hash, s.campaign_id, s.shown_at
         FROM unnest($1::bigint[], $2::text[]) AS v (account_id, hash)
         JOIN onsite_shown s ON s.account_id = v.account_id AND s.visitor = decode(v.hash, 'hex')`,
        [visitors.map((id) => id.split(' ')[0]), visitors.map((id) => id.split(' ')[1])],
      );
      const found = new Map(visitors.map((id) => [id, new Map<number, number>()]));
      for (const { account_id, hash, campaign_id, shown_at } of rows)
        found
          .get(visitorId({ accountId: Number(account_id), hash }))
          ?.set(Number(campaign_id), shown_at.getTime());
      return found;
    },
    async add(showings) {
      await database.query(
        `WITH shown AS (
           SELECT account_id, decode(hash, 'hex') AS visitor, campaign_id, max(to_timestamp(at / 1000.0)) AS at
           FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS s (account_id, hash, campaign_id, at)
           GROUP BY 1, 2, 3
         ), added AS (
           INSERT INTO onsite_shown AS known (account_id, visitor, campaign_id, shown_at)
           SELECT s.account_id, s.visitor, s.campaign_id, s.at FROM shown s LEFT JOIN onsite_shown_counts c USING (account_id)
           WHERE coalesce(c.rows, 0) < $5 ORDER BY 1, 2, 3
           ON CONFLICT (account_id, visitor, campaign_id) DO UPDATE SET shown_at = greatest(known.shown_at, excluded.shown_at)
           RETURNING account_id, (xmax = 0) AS is_new
         )
         INSERT INTO onsite_shown_counts AS counts (account_id, rows)
         SELECT account_id, count(*) FILTER (WHERE is_new) FROM added GROUP BY account_id ORDER BY account_id
         ON CONFLICT (account_id) DO UPDATE SET rows = counts.rows + excluded.rows`,
        [
          showings.map(({ accountId }) => accountId),
          showings.map(({ hash }) => hash),
          showings.map(({ campaignId }) => campaignId),
          showings.map(({ at }) => at),
          maxRows,
        ],
      );
    },
  };
}
