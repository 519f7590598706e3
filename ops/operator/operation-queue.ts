import type { CommandReport } from '../../platform/operations/operation-wait.ts';
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
  /** The erasure that it began (erasures.id). */
  erasure: number | undefined;
  /** It was given back because it waited. */
  hasWaited: boolean;
}

/** How long a process has an operation without a sign of life, ms. */
export const LEASE_MS = 30_000;
/** Processes that died over an operation: after so many it has failed. */
const MAX_ATTEMPTS = 3;
/** A waiting operation is looked at again after a quarter of its wait, at least and at most, ms. */
const LOOK_AGAIN_MS = { min: 10_000, max: 60_000 } as const;
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
  erasure_id: string | null;
  has_waited: boolean;
}

const OWNED = 'id = $1 AND owner_epoch = $2';
// $3 and $4: what the command reported; null: nothing of it.
const REPORTED = `erasure_id = coalesce($3::bigint, erasure_id), waits = coalesce($4::json, waits),
  waits_since = CASE WHEN $4::text IS NULL THEN waits_since WHEN $4::text <> '[]' THEN coalesce(waits_since, clock_timestamp()) END`;
// Ids are few enough to be found by their hash.
const END = `leased_until = NULL, look_at = NULL, waits = '[]', waits_since = NULL, finished_at = clock_timestamp(),
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
    const { id, account_id, kind, input, owner_epoch, erasure_id, has_waited } = row;
    return {
      ...{ id: Number(id), epoch: Number(owner_epoch) },
      accountId: account_id === null ? undefined : Number(account_id),
      operation: { kind, input } as Operation,
      erasure: erasure_id === null ? undefined : Number(erasure_id),
      hasWaited: has_waited,
    };
  }

  async #claimRow(isLong: boolean): Promise<ClaimedRow[]> {
    const claimed = this.#database.query<ClaimedRow>(
      `UPDATE operations SET state = 'running', owner_epoch = owner_epoch + 1, attempts = attempts + 1, started_at = coalesce(started_at, clock_timestamp()),
         taken_at = clock_timestamp(), look_at = NULL, leased_until = clock_timestamp() + $2 * interval '1 ms'
       WHERE id = (
         SELECT o.id FROM operations o
         WHERE o.is_long = $1 AND o.attempts < $3 AND NOT o.stop_requested
           AND ((o.state = 'running' AND o.leased_until < clock_timestamp())
             OR (o.state = 'queued' AND coalesce(o.look_at <= clock_timestamp(), true) AND NOT EXISTS (SELECT FROM operations p
               WHERE p.account_id IS NOT DISTINCT FROM o.account_id AND p.is_long = o.is_long AND p.state = 'running')))
         ORDER BY (SELECT max(p.taken_at) FROM operations p WHERE p.account_id IS NOT DISTINCT FROM o.account_id) NULLS FIRST, coalesce(o.look_at, o.requested_at), o.id
         LIMIT 1 FOR UPDATE OF o SKIP LOCKED)
       RETURNING id, account_id, kind, input, owner_epoch, erasure_id, waits_since IS NOT NULL AS has_waited`,
      [isLong, LEASE_MS, MAX_ATTEMPTS],
    );
    try {
      return (await claimed).rows;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION) return [];
      throw error;
    }
  }

  /**
   * Renews the lease, and writes what the command reported; whether it shall stop, or `lost` when
   * another process has it.
   */
  async renew(
    { id, epoch }: OwnedOperation,
    report: CommandReport,
  ): Promise<'go_on' | 'stop' | 'lost'> {
    const { rows } = await this.#database.query<{ stop_requested: boolean }>(
      `UPDATE operations SET ${REPORTED}, leased_until = clock_timestamp() + $5 * interval '1 ms' WHERE ${OWNED} AND state = 'running' RETURNING stop_requested`,
      [id, epoch, ...valuesOf(report), LEASE_MS],
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

  /**
   * It waits for something: others go on meanwhile, and a process takes it again later. Its process
   * has not died, so that only deaths in a row count.
   */
  async giveBack({ id, epoch }: OwnedOperation, report: CommandReport): Promise<void> {
    await this.#database.query(
      `UPDATE operations SET ${REPORTED}, state = 'queued', attempts = 0, leased_until = NULL, look_at = CASE WHEN $4::text <> '[]' THEN
         clock_timestamp() + least($6::float8, greatest($5::float8, extract(epoch FROM clock_timestamp() - waits_since) * 1000 / 4)) * interval '1 ms' END
       WHERE ${OWNED} AND state = 'running'`,
      [id, epoch, ...valuesOf(report), LOOK_AGAIN_MS.min, LOOK_AGAIN_MS.max],
    );
  }

  /**
   * Ends what was stopped before it began and what processes died over. Resolves with how long all
   * that is open waits, ms; undefined: nothing is open.
   */
  async sweep(): Promise<number | undefined> {
    const { rows } = await this.#database.query<{ rest: number | null }>(
      `SELECT min(CASE WHEN state = 'queued' AND look_at > clock_timestamp()
         THEN extract(epoch FROM look_at - clock_timestamp()) * 1000 ELSE 0 END)::float8 AS rest
       FROM operations WHERE state IN ('queued', 'running')`,
      [],
    );
    const rest = rows[0]?.rest ?? undefined;
    if (rest === undefined) return undefined;
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
    return rest;
  }

  async forget(): Promise<void> {
    await this.#database.query(
      `DELETE FROM operations WHERE finished_at < clock_timestamp() - make_interval(days => CASE WHEN is_dry THEN $2::int ELSE $1::int END)`,
      [KEPT_DAYS, DRY_KEPT_DAYS],
    );
  }
}

/** For REPORTED. */
function valuesOf({ erasure, waits }: CommandReport): [number | null, string | null] {
  return [erasure ?? null, waits === undefined ? null : JSON.stringify(waits)];
}
