import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** A deletion of the expired rows of one account and one day (UTC). Times in ms since the epoch. */
export interface Step {
  accountId: number;
  /** As YYYY-MM-DD. */
  day: string;
  /** Rows with a timestamp below this are deleted. */
  below: number;
  /** Rows received later than this may still be in flight; the next run deletes them. */
  receivedBefore: number;
  /** Deleted rows by the minute of their reception (Unix s). */
  counts: [minute: number, rows: number][];
}

export function rowsOf({ counts }: Pick<Step, 'counts'>): number {
  return counts.reduce((sum, [, rows]) => sum + rows, 0);
}

interface Stored {
  account_id: string;
  day: string;
  below: number;
  received_before: number;
  counts: [number, number][];
}

const STEPS = `SELECT account_id, day::text, extract(epoch FROM below)::float8 * 1000 AS below, extract(epoch FROM received_before)::float8 * 1000 AS received_before, counts FROM retention_steps`;

/** Runs and steps of retention in PostgreSQL. Every statement is atomic and idempotent. */
export function retentionLedger(database: Pick<Database, 'query'>) {
  return {
    /** Day (YYYY-MM-DD in Tehran) of the last completed run. */
    async lastDay(): Promise<string | undefined> {
      const { rows } = await database.query<{ day: string }>(
        'SELECT day::text FROM retention_runs WHERE finished_at IS NOT NULL ORDER BY day DESC LIMIT 1',
      );
      return rows[0]?.day;
    },
    async begin(day: string): Promise<void> {
      await database.query('INSERT INTO retention_runs (day) VALUES ($1) ON CONFLICT DO NOTHING', [
        day,
      ]);
    },
    async finish(day: string): Promise<void> {
      await database.query(
        'UPDATE retention_runs SET finished_at = clock_timestamp() WHERE day = $1',
        [day],
      );
    },
    /** The audit line of what a run deleted of an account. */
    async recordDeleted({
      accountId,
      below,
      ...details
    }: {
      accountId: number;
      rows: number;
      /** Retention of the account, days. */
      days: number;
      below: number;
    }): Promise<void> {
      await recordAudit(database, {
        ...{ accountId, actor: 'service:retention', action: 'retention.deleted' },
        details: { ...details, below: new Date(below).toISOString() },
      });
    },
    /** Accounts that keep events for a shorter time than the TTL of the tables, with their days. */
    async accounts(): Promise<{ id: number; days: number }[]> {
      const { rows } = await database.query<{ id: string; retention_days: number }>(
        'SELECT id, retention_days FROM accounts WHERE retention_days BETWEEN 1 AND 399 ORDER BY id',
      );
      return rows.map(({ id, retention_days }) => ({ id: Number(id), days: retention_days }));
    },
    /** Steps that a killed process recorded and perhaps executed. */
    async open(): Promise<Step[]> {
      const { rows } = await database.query<Stored>(STEPS);
      return rows.map(({ account_id, day, below, received_before, counts }) => ({
        accountId: Number(account_id),
        day,
        below,
        receivedBefore: received_before,
        counts,
      }));
    },
    /**
     * Resolves with false when an erasure has counted rows of the account that it has not removed
     * yet, or has removed some since they were counted: the books would move them twice.
     * @param since when they were counted, by `clock`
     */
    async record(
      { accountId, day, below, receivedBefore, counts }: Step,
      since: string,
    ): Promise<boolean> {
      const { rowCount } = await database.query(
        `INSERT INTO retention_steps (account_id, day, below, received_before, counts) SELECT $1, $2::date, $3, $4, $5
         WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE account_id = $1 AND counts IS NOT NULL
           AND (state = 'enforced' OR changed_at >= $6::timestamptz)) ON CONFLICT DO NOTHING`,
        [accountId, day, new Date(below), new Date(receivedBefore), JSON.stringify(counts), since],
      );
      return rowCount === 1;
    },
    /** The time of PostgreSQL. */
    async clock(): Promise<string> {
      const { rows } = await database.query<{ at: string }>('SELECT clock_timestamp()::text AS at');
      return rows[0]?.at ?? '';
    },
    /**
     * Deletes the executed step, records what is deleted now (retention_limits), and moves its rows
     * from `stored` to `expired` in the reconciliation, in one statement. A minute whose day is
     * folded gets a row, which is added to
     * the day.
     */
    async close({ accountId, day, counts }: Step, runDay: string): Promise<void> {
      await database.query(
        `WITH done AS (DELETE FROM retention_steps WHERE account_id = $1 AND day = $2 RETURNING account_id, below, received_before),
           covered AS (DELETE FROM retention_limits USING done WHERE retention_limits.account_id = done.account_id
             AND retention_limits.below < done.below AND retention_limits.received_before <= done.received_before),
           limits AS (INSERT INTO retention_limits (account_id, below, received_before) SELECT account_id, below, received_before FROM done
             ON CONFLICT (account_id, below) DO UPDATE SET received_before = greatest(retention_limits.received_before, excluded.received_before), closed_at = clock_timestamp()),
           run AS (UPDATE retention_runs SET rows_deleted = rows_deleted + $5 WHERE day = $6 AND EXISTS (SELECT 1 FROM done) RETURNING 1)
         INSERT INTO books (account_id, minute, expired, stored, open)
         SELECT done.account_id, gone.minute, gone.n, -gone.n, false FROM done, unnest($3::timestamptz[], $4::bigint[]) AS gone (minute, n)
         ON CONFLICT (account_id, minute) DO UPDATE SET expired = books.expired + excluded.expired, stored = books.stored + excluded.stored, changed_at = clock_timestamp()`,
        [
          accountId,
          day,
          counts.map(([minute]) => new Date(minute * 1000)),
          counts.map(([, rows]) => rows),
          rowsOf({ counts }),
          runDay,
        ],
      );
    },
  };
}

export type RetentionLedger = ReturnType<typeof retentionLedger>;
