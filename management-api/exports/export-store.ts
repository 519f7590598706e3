import type { JsonObject } from '../../events/json.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ExportDraft, ExportFormat, ExportKind } from './request.ts';

export const EXPIRES_AFTER_HOURS = 168;
/** A worker without a heartbeat for this long loses its job. */
const LEASE_SECONDS = 30;

/** An export as clients read it (reports: Audiences). */
export interface ExportItem {
  id: number;
  kind: ExportKind;
  format: ExportFormat;
  status: 'queued' | 'running' | 'ready' | 'failed' | 'expired';
  created_at: string;
  expires_at?: string;
  rows?: number;
  bytes?: number;
  error?: string;
}

/** A job that a worker has claimed. */
export interface ExportJob {
  id: string;
  accountId: number;
  kind: ExportKind;
  format: ExportFormat;
  spec: JsonObject;
  attempt: number;
}

export interface Progress {
  rows: number;
  bytes: number;
}

interface Row extends Omit<ExportJob, 'accountId'> {
  account_id: string;
  status: ExportItem['status'];
  created_at: Date;
  expires_at: Date | null;
  rows: string | null;
  bytes: string | null;
  error: string | null;
}

const COLUMNS =
  'id, account_id, kind, format, spec, status, attempt, created_at, expires_at, rows, bytes, error';
/** The job still belongs to this worker. */
const HELD = "id = $1 AND attempt = $2 AND status = 'running'";
const LEASE = `clock_timestamp() + interval '${LEASE_SECONDS} seconds'`;

/**
 * Exports in PostgreSQL. Each method is one statement; all reject when the store is unavailable.
 */
export class ExportStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(accountId: number, limit: number): Promise<ExportItem[]> {
    return (
      await this.#rows(
        `SELECT ${COLUMNS} FROM exports WHERE account_id = $1 ORDER BY id DESC LIMIT $2`,
        [accountId, limit],
      )
    ).map(itemOf);
  }

  async create(accountId: number, { kind, format, spec }: ExportDraft): Promise<ExportItem> {
    const sql = `INSERT INTO exports (account_id, kind, format, spec) VALUES ($1, $2, $3, $4) RETURNING ${COLUMNS}`;
    const [row] = await this.#rows(sql, [accountId, kind, format, JSON.stringify(spec)]);
    if (!row) throw new Error('the insert into exports returned no row');
    return itemOf(row);
  }

  /**
   * Claims the oldest job that is due, also one whose worker sends no heartbeat. Undefined: there
   * is none.
   */
  async claim(): Promise<ExportJob | undefined> {
    const due = `SELECT id FROM exports WHERE status IN ('queued', 'running') AND due_at <= clock_timestamp() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED`;
    const sql = `UPDATE exports SET status = 'running', attempt = attempt + 1, due_at = ${LEASE}, rows = 0, bytes = 0 WHERE id = (${due}) RETURNING ${COLUMNS}`;
    const [row] = await this.#rows(sql, []);
    return (
      row && {
        id: row.id,
        accountId: Number(row.account_id),
        kind: row.kind,
        format: row.format,
        spec: row.spec,
        attempt: row.attempt,
      }
    );
  }

  /** Stores the progress and extends the lease. False: another worker has claimed the job. */
  async progress({ id, attempt }: ExportJob, { rows, bytes }: Progress): Promise<boolean> {
    return this.#changed(
      `UPDATE exports SET rows = $3, bytes = $4, due_at = ${LEASE} WHERE ${HELD}`,
      [id, attempt, rows, bytes],
    );
  }

  async finish(
    { id, attempt }: ExportJob,
    { rows, bytes, file }: Progress & { file: string },
  ): Promise<boolean> {
    const sql = `UPDATE exports SET status = 'ready', rows = $3, bytes = $4, file = $5, finished_at = clock_timestamp(),
      expires_at = clock_timestamp() + interval '${EXPIRES_AFTER_HOURS} hours' WHERE ${HELD}`;
    return this.#changed(sql, [id, attempt, rows, bytes, file]);
  }

  /** Releases a job; it is due again after `delay` ms. */
  async release({ id, attempt }: ExportJob, delay: number): Promise<boolean> {
    const sql = `UPDATE exports SET status = 'queued', due_at = clock_timestamp() + $3 * interval '1 millisecond' WHERE ${HELD}`;
    return this.#changed(sql, [id, attempt, delay]);
  }

  async fail({ id, attempt }: ExportJob, error: string): Promise<boolean> {
    return this.#changed(
      `UPDATE exports SET status = 'failed', error = $3, finished_at = clock_timestamp() WHERE ${HELD}`,
      [id, attempt, error],
    );
  }

  /** Marks expired exports and returns their files, which can be deleted. */
  async expire(): Promise<string[]> {
    const sql = `UPDATE exports SET status = 'expired' WHERE status = 'ready' AND expires_at <= clock_timestamp() RETURNING file`;
    return (await this.#database.query<{ file: string }>(sql)).rows.map(({ file }) => file);
  }

  async #rows(sql: string, values: unknown[]): Promise<Row[]> {
    return (await this.#database.query<Row>(sql, values)).rows;
  }

  async #changed(sql: string, values: unknown[]): Promise<boolean> {
    return (await this.#database.query(sql, values)).rowCount === 1;
  }
}

function itemOf({
  id,
  kind,
  format,
  status,
  created_at,
  expires_at,
  rows,
  bytes,
  error,
}: Row): ExportItem {
  return {
    id: Number(id),
    kind,
    format,
    status,
    created_at: created_at.toISOString(),
    ...(expires_at === null ? {} : { expires_at: expires_at.toISOString() }),
    ...(rows === null ? {} : { rows: Number(rows) }),
    ...(bytes === null ? {} : { bytes: Number(bytes) }),
    ...(error === null ? {} : { error }),
  };
}
