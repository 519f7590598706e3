import type { Database } from '../../../platform/postgres/pool.ts';
import type { Retry } from '../chunk/chunk-state.ts';
import type { LeasedChunk } from './chunk-row.ts';

/** Chunks of one run that one statement leases at most. */
const MAX_OF_A_RUN = 16;

const IS_HELD = `NOT r.cancelled AND (r.paused OR a.status <> 'active')`;

/**
 * The due chunks of active runs, by turns: one of each (account, channel) before the second of any,
 * and within one of each run before the second of any. A run that ends, because it is cancelled or
 * past its deadline, is always due and needs no sender. Of a run that is held, because it is paused
 * or its account is suspended, those chunks are leased of which a process left attempts open: they
 * end, and nothing is opened.
 */
const LEASE = `WITH free AS (
    SELECT * FROM unnest($3::bigint[], $4::text[], $5::integer[], $8::integer[]) AS f (account_id, channel, chunks, held)
  ), run AS MATERIALIZED (
    SELECT r.id, r.cancelled OR coalesce(r.deadline_at < now(), false) AS ends FROM campaign_runs r JOIN accounts a ON a.id = r.account_id
    WHERE r.state IN ('planning', 'sending') AND (r.cancelled OR (NOT r.paused AND a.status = 'active'))
  ), due AS (
    SELECT c.*, r.ends, row_number() OVER (PARTITION BY c.run_id ORDER BY c.next_at, c.chunk) AS place_in_run
    FROM run r CROSS JOIN LATERAL (
      SELECT m.run_id, m.chunk, m.account_id, m.channel, m.next_at FROM message_chunks m
      WHERE m.run_id = r.id AND NOT m.is_done AND (r.ends OR m.next_at <= now()) AND (m.leased_until IS NULL OR m.leased_until < now())
      ORDER BY m.next_at, m.chunk LIMIT ${MAX_OF_A_RUN}
    ) c
    UNION ALL
    SELECT m.run_id, m.chunk, m.account_id, m.channel, m.next_at, true, row_number() OVER (PARTITION BY m.run_id ORDER BY m.next_at, m.chunk)
    FROM message_chunks m JOIN campaign_runs r ON r.id = m.run_id JOIN accounts a ON a.id = r.account_id
    WHERE NOT m.is_done AND m.opened_with <> '' AND (m.leased_until IS NULL OR m.leased_until < now())
      AND r.state IN ('planning', 'sending') AND ${IS_HELD}
  ), placed AS (
    SELECT run_id, chunk, account_id, channel, ends,
      row_number() OVER (PARTITION BY account_id, channel, ends ORDER BY place_in_run, next_at, run_id) AS place
    FROM due
  ), picked AS (
    SELECT p.run_id, p.chunk FROM placed p LEFT JOIN free f USING (account_id, channel)
    WHERE p.ends OR p.place <= coalesce(f.chunks, $6) ORDER BY p.place + coalesce(f.held, 0), random() LIMIT $7
  ), leased AS (
    UPDATE message_chunks m SET leased_by = $1, leased_until = now() + $2 * interval '1 millisecond', fence = m.fence + 1
    FROM picked p
    WHERE m.run_id = p.run_id AND m.chunk = p.chunk AND NOT m.is_done AND (m.leased_until IS NULL OR m.leased_until < now())
    RETURNING m.*
  )
  SELECT m.run_id::float8, m.chunk, m.account_id::float8, m.campaign_id::float8, m.channel, m.record, m.recipients, m.opened, m.finished,
    m.retries, m.fence::float8, m.opened_with, r.definition, r.version, r.cancelled, ${IS_HELD} AS is_held, r.frozen,
    extract(epoch FROM r.deadline_at)::float8 * 1000 AS deadline_at
  FROM leased m JOIN campaign_runs r ON r.id = m.run_id JOIN accounts a ON a.id = r.account_id`;

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
