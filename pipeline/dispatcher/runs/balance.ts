import type { Database } from '../../../platform/postgres/pool.ts';

/**
 * Messages of campaigns: `planned` is the sum of the others (docs/message-stats.md, The balance).
 */
export interface MessageTotals {
  planned: number;
  sent: number;
  failed: number;
  withheld: number;
  skipped: number;
  /** Of runs that have not ended: have no outcome yet. */
  in_flight: number;
}

export interface MessageBalance {
  totals: MessageTotals;
  /** By how many messages the balance is wrong. */
  gap: number;
  runs: BalanceGap[];
  accounts: BalanceGap[];
}

/** A run or an account whose balance is wrong, and by how many messages. */
export interface BalanceGap {
  id: number;
  gap: number;
}

/** Runs and accounts with a gap that are named. */
const NAMED = 20;

/**
 * Each figure is counted where it is decided, and compared with what another statement part counts:
 * outcomes of a run with the finished recipients of its chunks, recipients of its chunks with its
 * planned ones, and the totals of an account with its runs. One statement sees one moment. $1:
 * account; null: all.
 */
const BALANCE = `WITH active AS MATERIALIZED (
    SELECT r.id, r.account_id, r.planned, r.chunks, r.is_planned,
      (SELECT coalesce(sum(c.messages), 0) FROM campaign_run_counts c WHERE c.run_id = r.id) AS ended
    FROM campaign_runs r WHERE r.state IN ('planning', 'sending') AND r.frozen_at IS NOT NULL AND ($1::bigint IS NULL OR r.account_id = $1)
  ), queued AS (
    SELECT m.run_id, count(*) AS chunks, sum(m.recipients) AS recipients, sum(bit_count(m.finished)) AS finished
    FROM message_chunks m WHERE m.run_id IN (SELECT id FROM active) GROUP BY m.run_id
  ), run AS (
    SELECT a.id, a.account_id, a.planned - a.ended AS in_flight,
      abs(a.ended - coalesce(q.finished, 0)) + greatest(a.ended - a.planned, 0)
        + greatest(CASE WHEN a.is_planned AND q.chunks >= a.chunks THEN abs(a.planned - q.recipients) ELSE q.recipients - a.planned END, 0) AS gap
    FROM active a LEFT JOIN queued q ON q.run_id = a.id
  ), total AS (
    SELECT t.account_id, coalesce(sum(t.messages) FILTER (WHERE t.status = 'planned'), 0) AS planned, coalesce(sum(t.messages) FILTER (WHERE t.status = 'sent'), 0) AS sent,
      coalesce(sum(t.messages) FILTER (WHERE t.status = 'failed'), 0) AS failed, coalesce(sum(t.messages) FILTER (WHERE t.status = 'withheld'), 0) AS withheld,
      coalesce(sum(t.messages) FILTER (WHERE t.status = 'skipped'), 0) AS skipped
    FROM message_totals t WHERE $1::bigint IS NULL OR t.account_id = $1 GROUP BY t.account_id
  ), flying AS (SELECT account_id, sum(in_flight) AS in_flight FROM run GROUP BY account_id
  ), account AS (
    SELECT coalesce(t.account_id, f.account_id) AS id, coalesce(t.planned, 0) AS planned, coalesce(t.sent, 0) AS sent, coalesce(t.failed, 0) AS failed,
      coalesce(t.withheld, 0) AS withheld, coalesce(t.skipped, 0) AS skipped, coalesce(f.in_flight, 0) AS in_flight
    FROM total t FULL JOIN flying f ON f.account_id = t.account_id
  ), gaps AS (SELECT id, abs(planned - sent - failed - withheld - skipped - in_flight) AS gap FROM account)
  SELECT coalesce(sum(planned), 0)::float8 AS planned, coalesce(sum(sent), 0)::float8 AS sent, coalesce(sum(failed), 0)::float8 AS failed,
    coalesce(sum(withheld), 0)::float8 AS withheld, coalesce(sum(skipped), 0)::float8 AS skipped, coalesce(sum(in_flight), 0)::float8 AS in_flight,
    (SELECT coalesce(json_agg(g), '[]') FROM (SELECT id, gap FROM run WHERE gap <> 0 ORDER BY gap DESC, id LIMIT ${NAMED}) g) AS runs,
    (SELECT coalesce(json_agg(g), '[]') FROM (SELECT id, gap FROM gaps WHERE gap <> 0 ORDER BY gap DESC, id LIMIT ${NAMED}) g) AS accounts
  FROM account`;

interface Row extends MessageTotals {
  runs: BalanceGap[];
  accounts: BalanceGap[];
}

/** The balance of an account, or of all. Rejects when PostgreSQL does. */
export async function readMessageBalance(
  database: Pick<Database, 'query'>,
  accountId?: number,
): Promise<MessageBalance> {
  const { rows } = await database.query<Row>(BALANCE, [accountId ?? null]);
  const [row] = rows;
  if (!row) throw new Error('PostgreSQL answered no balance of messages');
  const { runs, accounts, ...totals } = row;
  const { planned, sent, failed, withheld, skipped, in_flight } = totals;
  const gap = Math.abs(planned - sent - failed - withheld - skipped - in_flight);
  return { totals, gap, runs, accounts };
}

/** What waits in the two queues of messages. */
export interface WaitingMessages {
  /** Chunks of runs that send which may be sent now; at most 100 of each run are counted. */
  due_chunks: number;
  /** For how long the one has been due that waits longest, seconds. */
  due_seconds: number;
  /** Rows of message_outbox, and the age of the oldest, seconds. */
  outbox_rows: number;
  outbox_seconds: number;
}

/** A run may have hundreds of them, and there may be a thousand runs. */
const MAX_OF_A_RUN = 100;

const WAITING = `SELECT chunks.due_chunks, chunks.due_seconds, outbox.outbox_rows, outbox.outbox_seconds
  FROM (
    SELECT count(m.since)::float8 AS due_chunks, coalesce(extract(epoch FROM now() - min(m.since)), 0)::float8 AS due_seconds
    FROM campaign_runs r JOIN accounts a ON a.id = r.account_id CROSS JOIN LATERAL (
      SELECT greatest(m.next_at, m.created_at) AS since FROM message_chunks m
      WHERE m.run_id = r.id AND NOT m.is_done AND m.next_at <= now() AND (m.leased_until IS NULL OR m.leased_until < now())
      ORDER BY m.next_at LIMIT ${MAX_OF_A_RUN}
    ) m
    WHERE r.state IN ('planning', 'sending') AND (r.cancelled OR (NOT r.paused AND a.status = 'active'))
  ) chunks, (
    SELECT count(*)::float8 AS outbox_rows, coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS outbox_seconds FROM message_outbox
  ) outbox`;

/** Rejects when PostgreSQL does. */
export async function waitingMessages(database: Pick<Database, 'query'>): Promise<WaitingMessages> {
  const { rows } = await database.query<WaitingMessages>(WAITING);
  return rows[0] ?? { due_chunks: 0, due_seconds: 0, outbox_rows: 0, outbox_seconds: 0 };
}
