import type { Operation, OperationKind } from '../../platform/operations/operation.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { OperationEnd } from './result-of.ts';

/** An operation that this process works on. */
export interface OwnedOperation {
  id: number;
  /** undefined: of the installation. */
  accountId: number | undefined;
  operation: Operation;
  /** Rises with each process that takes it. */
  epoch: number;
}

/** How long a process has an operation without a sign of life, ms. */
export const LEASE_MS = 30_000;
/** Processes that died over an operation: after so many it has failed. */
const MAX_ATTEMPTS = 3;
/** What has ended is kept so long, days; dry runs are looked at once. */
const KEPT_DAYS = 90;
const DRY_KEPT_DAYS = 1;

const UNIQUE_VIOLATION = '23505';

interface ClaimedRow {
  id: string;
  account_id: string | null;
  kind: OperationKind;
  input: never;
  owner_epoch: string;
}

const OWNED = 'id = $1 AND owner_epoch = $2';
// Ids are few enough to be found by their hash.
const END = `leased_until = NULL, finished_at = clock_timestamp(),
  input = CASE WHEN kind LIKE 'person.%' THEN '{}' ELSE input END,
  subject = CASE WHEN kind LIKE 'person.%' THEN repeat('0', 64) ELSE subject END`;

/**
 * The queue of operations in PostgreSQL. A process that is killed leaves its lease behind; another
 * one runs the same command again, which continues or repeats what it did.
 */
export class OperationQueue {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /**
   * Takes the next operation, in turns of accounts, one of each at a time. Undefined: none waits,
   * or another process took one of the same account at the same moment.
   */
  async claim({ isLong }: { isLong: boolean }): Promise<OwnedOperation | undefined> {
    const [row] = await this.#claimRow(isLong);
    if (!row) return undefined;
    const { id, account_id, kind, input, owner_epoch } = row;
    return {
      ...{ id: Number(id), epoch: Number(owner_epoch) },
      accountId: account_id === null ? undefined : Number(account_id),
      operation: { kind, input } as Operation,
    };
  }

  async #claimRow(isLong: boolean): Promise<ClaimedRow[]> {
    const claimed = this.#database.query<ClaimedRow>(
      `UPDATE operations SET state = 'running', owner_epoch = owner_epoch + 1, attempts = attempts + 1, started_at = coalesce(started_at, clock_timestamp()),
         leased_until = clock_timestamp() + $2 * interval '1 ms'
       WHERE id = (
         SELECT o.id FROM operations o
         WHERE o.is_long = $1 AND o.attempts < $3 AND NOT o.stop_requested
           AND ((o.state = 'running' AND o.leased_until < clock_timestamp())
             OR (o.state = 'queued' AND NOT EXISTS (SELECT FROM operations p
               WHERE p.account_id IS NOT DISTINCT FROM o.account_id AND p.is_long = o.is_long AND p.state = 'running')))
         ORDER BY (SELECT max(p.started_at) FROM operations p WHERE p.account_id IS NOT DISTINCT FROM o.account_id) NULLS FIRST, o.id
         LIMIT 1 FOR UPDATE OF o SKIP LOCKED)
       RETURNING id, account_id, kind, input, owner_epoch`,
      [isLong, LEASE_MS, MAX_ATTEMPTS],
    );
    try {
      return (await claimed).rows;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION) return [];
      throw error;
    }
  }

  /** Renews the lease; whether it shall stop, or `lost` when another process has it. */
  async renew({ id, epoch }: OwnedOperation): Promise<'go_on' | 'stop' | 'lost'> {
    const { rows } = await this.#database.query<{ stop_requested: boolean }>(
      `UPDATE operations SET leased_until = clock_timestamp() + $3 * interval '1 ms' WHERE ${OWNED} AND state = 'running' RETURNING stop_requested`,
      [id, epoch, LEASE_MS],
    );
    const [row] = rows;
    return row === undefined ? 'lost' : row.stop_requested ? 'stop' : 'go_on';
  }

  async end({ id, epoch }: OwnedOperation, { state, result, error }: OperationEnd): Promise<void> {
    await this.#database.query(
      `UPDATE operations SET state = $3, result = $4::json, error = $5, ${END} WHERE ${OWNED} AND state = 'running'`,
      [id, epoch, state, result === undefined ? null : JSON.stringify(result), error],
    );
  }

  /** This process ends: the next one continues at once, and none has died over it. */
  async release({ id, epoch }: OwnedOperation): Promise<void> {
    await this.#database.query(
      `UPDATE operations SET state = 'queued', attempts = attempts - 1, leased_until = NULL WHERE ${OWNED} AND state = 'running'`,
      [id, epoch],
    );
  }

  /** Ends what was stopped before it began and what processes died over; whether any is open. */
  async sweep(): Promise<boolean> {
    const { rows } = await this.#database.query<{ is_open: boolean }>(
      `SELECT EXISTS (SELECT FROM operations WHERE state IN ('queued', 'running')) AS is_open`,
      [],
    );
    if (rows[0]?.is_open !== true) return false;
    await this.#database.query(
      `UPDATE operations SET state = 'stopped', ${END}
       WHERE stop_requested AND (state = 'queued' OR (state = 'running' AND leased_until < clock_timestamp()))`,
      [],
    );
    await this.#database.query(
      `UPDATE operations SET state = 'failed', error = 'the processes that worked on it died', ${END}
       WHERE state = 'running' AND leased_until < clock_timestamp() AND attempts >= $1`,
      [MAX_ATTEMPTS],
    );
    return true;
  }

  async forget(): Promise<void> {
    await this.#database.query(
      `DELETE FROM operations WHERE finished_at < clock_timestamp() - make_interval(days => CASE WHEN is_dry THEN $2::int ELSE $1::int END)`,
      [KEPT_DAYS, DRY_KEPT_DAYS],
    );
  }
}
