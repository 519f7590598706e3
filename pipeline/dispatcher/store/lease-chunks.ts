import type { Database } from '../../../platform/postgres/pool.ts';
import type { Retry } from '../chunk/chunk-state.ts';
import type { LeasedChunk } from './chunk-row.ts';

/** Chunks of one run that ends which one statement leases at most. */
const MAX_OF_A_RUN = 16;

const IS_ACTIVE = `r.state IN ('planning', 'sending')`;
const IS_HELD = `NOT r.cancelled AND (r.paused OR a.status <> 'active')`;
const IS_ENDING = `CASE WHEN r.cancelled THEN '-infinity'::timestamptz ELSE r.deadline_at END < now()`;
const IS_FREE = `NOT m.is_done AND (m.leased_until IS NULL OR m.leased_until < now())`;

/**
 * The due chunks of active runs, by turns: one of each (account, channel) before the second of any,
 * and within one of each run before the second of any. Channels are looked at one after the other
 * until enough is found, and of each run no more chunks than its channel may have: what is read
 * depends on the channels that have room, not on how much waits.
 *
 * A run that ends, because it is cancelled or past its deadline, is always due and needs no sender.
 * Of a run that is held, because it is paused or its account is suspended, those chunks are leased
 * of which a process left attempts open: they end, and nothing is opened.
 */
const LEASE = `WITH RECURSIVE free AS (
    SELECT * FROM unnest($3::bigint[], $4::text[], $5::integer[], $8::integer[]) AS f (account_id, channel, chunks, held)
  ), channels AS (
    (SELECT r.account_id, r.channel FROM campaign_runs r WHERE ${IS_ACTIVE} AND r.channel IS NOT NULL ORDER BY r.account_id, r.channel LIMIT 1)
    UNION ALL
    SELECT next.account_id, next.channel FROM channels c CROSS JOIN LATERAL (
      SELECT r.account_id, r.channel FROM campaign_runs r
      WHERE ${IS_ACTIVE} AND (r.account_id, r.channel) > (c.account_id, c.channel) ORDER BY r.account_id, r.channel LIMIT 1
    ) next
  ), turns AS MATERIALIZED (
    SELECT c.account_id, c.channel, n, n + coalesce(f.held, 0) AS place
    FROM channels c JOIN accounts a ON a.id = c.account_id AND a.status = 'active' LEFT JOIN free f USING (account_id, channel)
      CROSS JOIN LATERAL generate_series(1, coalesce(f.chunks, $6)) AS n
    ORDER BY place, random()
  ), due AS (
    SELECT found.run_id, found.chunk, t.place FROM turns t CROSS JOIN LATERAL (
      SELECT first.* FROM campaign_runs r CROSS JOIN LATERAL (
        SELECT w.*, row_number() OVER (ORDER BY w.next_at, w.chunk) AS place_in_run FROM (
          SELECT m.run_id, m.chunk, m.next_at FROM message_chunks m
          WHERE m.run_id = r.id AND ${IS_FREE} AND m.next_at <= now() ORDER BY m.next_at, m.chunk LIMIT t.n
        ) w
      ) first
      WHERE ${IS_ACTIVE} AND r.account_id = t.account_id AND r.channel = t.channel AND NOT r.paused AND (${IS_ENDING}) IS NOT TRUE
      ORDER BY first.place_in_run, first.next_at, first.run_id OFFSET t.n - 1 LIMIT 1
    ) found
    LIMIT $7
  ), ending AS (
    SELECT m.run_id, m.chunk, m.account_id, m.channel, m.place_in_run FROM campaign_runs r JOIN accounts a ON a.id = r.account_id CROSS JOIN LATERAL (
      SELECT w.*, row_number() OVER (ORDER BY w.next_at, w.chunk) AS place_in_run FROM (
        SELECT m.run_id, m.chunk, m.account_id, m.channel, m.next_at FROM message_chunks m WHERE m.run_id = r.id AND ${IS_FREE} ORDER BY m.next_at, m.chunk LIMIT ${MAX_OF_A_RUN}
      ) w
    ) m
    WHERE ${IS_ACTIVE} AND ${IS_ENDING} AND NOT (${IS_HELD})
    UNION ALL
    SELECT m.run_id, m.chunk, m.account_id, m.channel, 1 FROM message_chunks m JOIN campaign_runs r ON r.id = m.run_id JOIN accounts a ON a.id = r.account_id
    WHERE ${IS_FREE} AND m.opened_with <> '' AND ${IS_ACTIVE} AND ${IS_HELD}
  ), picked AS (
    SELECT p.run_id, p.chunk FROM (
      SELECT run_id, chunk, place FROM due
      UNION ALL
      SELECT run_id, chunk, row_number() OVER (PARTITION BY account_id, channel ORDER BY place_in_run, run_id, chunk) FROM ending
    ) p ORDER BY p.place, random() LIMIT $7
  ), leased AS (
    UPDATE message_chunks m SET leased_by = $1, leased_until = now() + $2 * interval '1 millisecond', fence = m.fence + 1
    FROM picked p
    WHERE m.run_id = p.run_id AND m.chunk = p.chunk AND ${IS_FREE}
    RETURNING m.*
  )
  SELECT m.run_id::float8, m.chunk, m.account_id::float8, m.campaign_id::float8, m.channel, m.record, m.recipients, m.opened, m.finished,
    m.retries, m.fence::float8, m.opened_with, r.*
  FROM leased m CROSS JOIN LATERAL (
    SELECT r.definition, r.version, r.cancelled, ${IS_HELD} AS is_held, r.frozen, extract(epoch FROM r.deadline_at)::float8 * 1000 AS deadline_at
    FROM campaign_runs r JOIN accounts a ON a.id = r.account_id WHERE r.id = m.run_id LIMIT 1
  ) r`;

interface Row {
  run_id: number;
  chunk: number;
  account_id: number;
  campaign_id: number;
  channel: string;
  record: Buffer;
  recipients: number;
  opened: Buffer;
  finished: Buffer;
  retries: Retry[];
  fence: number;
  opened_with: string;
  definition: unknown;
  version: number;
  cancelled: boolean;
  is_held: boolean;
  frozen: unknown;
  deadline_at: number | null;
}

/** How many chunks a channel of an account may lease now. */
export interface FreeChunks {
  accountId: number;
  channel: string;
  chunks: number;
  /** Those that it has leased: channels without any come first. */
  held: number;
}

/** Leases due chunks that nobody else has. Rejects when PostgreSQL does. */
export async function leaseChunks(
  database: Pick<Database, 'query'>,
  options: {
    /** No other lease has the same: a write after the lease was lost is never its successor's. */
    owner: string;
    leaseMs: number;
    /** Of the channels that this process knows. */
    free: readonly FreeChunks[];
    /** Of every other channel of an account. */
    perChannel: number;
    max: number;
  },
): Promise<LeasedChunk[]> {
  const { owner, leaseMs, free, perChannel, max } = options;
  const { rows } = await database.query<Row>(LEASE, [
    ...[owner, leaseMs],
    free.map(({ accountId }) => accountId),
    free.map(({ channel }) => channel),
    free.map(({ chunks }) => chunks),
    ...[perChannel, max],
    free.map(({ held }) => held),
  ]);
  return rows.map((row) => ({
    ...{ runId: row.run_id, chunk: row.chunk, accountId: row.account_id },
    ...{ campaignId: row.campaign_id, channel: row.channel, record: Buffer.from(row.record) },
    state: {
      ...{ recipients: row.recipients, retries: row.retries },
      ...{ opened: Buffer.from(row.opened), finished: Buffer.from(row.finished) },
    },
    ...{ owner, fence: row.fence, openedWith: row.opened_with },
    run: {
      ...{ definition: row.definition, version: row.version, isCancelled: row.cancelled },
      ...{ isHeld: row.is_held, frozen: row.frozen, deadlineAt: row.deadline_at ?? undefined },
    },
  }));
}

const RELEASE = `UPDATE message_chunks SET leased_by = NULL, leased_until = NULL, fence = fence + 1
  WHERE NOT is_done AND starts_with(leased_by, $1)`;
const RELEASE_OUTBOX = `UPDATE message_outbox SET leased_until = clock_timestamp() WHERE starts_with(leased_by, $1)`;

/**
 * Ends the leases of processes whose names begin so: a killed process leaves its chunks to the one
 * that replaces it at once. Answers how many.
 */
export async function releaseLeases(
  database: Pick<Database, 'query'>,
  prefix: string,
): Promise<number> {
  await database.query(RELEASE_OUTBOX, [prefix]);
  const { rowCount } = await database.query(RELEASE, [prefix]);
  return rowCount ?? 0;
}
