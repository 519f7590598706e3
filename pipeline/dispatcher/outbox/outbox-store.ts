import type { Database } from '../../../platform/postgres/pool.ts';

type Queries = Pick<Database, 'query'>;

/** A row of message_outbox. */
export interface OutboxRow {
  id: number;
  accountId: number;
  /** messaging/outcomes/outcome-frames.ts */
  outcomes: Buffer;
}

/** The rows that wait longest, whoever wrote them. */
const LEASE = `UPDATE message_outbox o SET leased_by = $1, leased_until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM (
    SELECT id FROM message_outbox WHERE leased_until <= clock_timestamp() ORDER BY leased_until, id LIMIT $3 FOR UPDATE SKIP LOCKED
  ) due WHERE o.id = due.id
  RETURNING o.id::float8, o.account_id::float8, o.outcomes`;

const RETURN = `UPDATE message_outbox SET leased_by = NULL, leased_until = clock_timestamp() + $3 * interval '1 millisecond'
  WHERE id = ANY ($1::bigint[]) AND leased_by = $2`;

const REMOVE = `WITH removed AS (DELETE FROM message_outbox WHERE id = ANY ($1::bigint[]))
  UPDATE message_outbox o SET outcomes = k.outcomes, leased_by = NULL, leased_until = clock_timestamp() + $5 * interval '1 millisecond'
  FROM unnest($2::bigint[], $3::bytea[]) AS k (id, outcomes) WHERE o.id = k.id AND o.leased_by = $4`;

/** message_outbox as one process changes it. Methods reject when PostgreSQL does. */
export class OutboxStore {
  readonly #database: Queries;
  readonly #owner: string;

  /** @param owner names this process among all, and begins as its leases of chunks do */
  constructor(database: Queries, owner: string) {
    this.#database = database;
    this.#owner = owner;
  }

  async lease({ rows: limit, ms }: { rows: number; ms: number }): Promise<OutboxRow[]> {
    const { rows } = await this.#database.query<{
      id: number;
      account_id: number;
      outcomes: Buffer;
    }>(LEASE, [this.#owner, ms, limit]);
    return rows.map((row) => ({
      ...{ id: row.id, accountId: row.account_id, outcomes: Buffer.from(row.outcomes) },
    }));
  }

  /** Gives rows back; they are leased again after `ms` at the earliest. */
  async giveBack(rows: readonly Pick<OutboxRow, 'id'>[], ms: number): Promise<void> {
    await this.#database.query(RETURN, [rows.map(({ id }) => id), this.#owner, ms]);
  }

  /**
   * Removes rows that are published. Of those in `kept`, these outcomes stay, and are leased again
   * after `ms`.
   */
  async remove(
    published: readonly Pick<OutboxRow, 'id'>[],
    kept: readonly Pick<OutboxRow, 'id' | 'outcomes'>[],
    ms: number,
  ): Promise<void> {
    await this.#database.query(REMOVE, [
      published.map(({ id }) => id),
      kept.map(({ id }) => id),
      kept.map(({ outcomes }) => outcomes),
      ...[this.#owner, ms],
    ]);
  }
}
