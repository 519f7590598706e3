import type { JsonObject } from '../../events/json.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ExportDraft, ExportFormat, ExportKind } from './request.ts';

export const EXPIRES_AFTER_HOURS = 168;
/** Queued and running exports of one account. */
export const MAX_OPEN = 10;
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
  /** Rises with each claim. */
  attempt: number;
  /** Attempts that failed, or whose worker died. */
  failures: number;
}

/** A file whose time is over. */
export interface ExpiredFile {
  id: string;
  file: string;
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
  'id, account_id, kind, format, spec, status, attempt, failures, created_at, expires_at, rows, bytes, error';
const UNIQUE_VIOLATION = '23505';
/** The job still belongs to this worker. */
const HELD = "id = $1 AND attempt = $2 AND status = 'running'";
const OPEN = "status IN ('queued', 'running')";
const LEASE = `clock_timestamp() + interval '${LEASE_SECONDS} seconds'`;

/**
 * Exports in PostgreSQL. Each method is one statement; all reject when the store is unavailable.
 */
export class ExportStore {
  readonly #database: Database;
  #queued = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Exports that this process has queued or released. */
  get queued(): number {
    return this.#queued;
  }

  async list(accountId: number, limit: number): Promise<ExportItem[]> {
    return (
      await this.#rows(
        `SELECT ${COLUMNS} FROM exports WHERE account_id = $1 ORDER BY id DESC LIMIT $2`,
        [accountId, limit],
      )
    ).map(itemOf);
  }

  /**
   * Queues an export and records who asked for it, in one statement. Undefined: the account has
   * MAX_OPEN open ones.
   */
  async create(
    accountId: number,
    { draft: { kind, format, spec }, actor }: { draft: ExportDraft; actor: string },
  ): Promise<ExportItem | undefined> {
    const sql = `WITH made AS (
        INSERT INTO exports (account_id, kind, format, spec, slot)
        SELECT $1::bigint, $2::text, $3::text, $4::json, free.slot FROM generate_series(1, ${MAX_OPEN}) AS free (slot)
        WHERE (SELECT count(*) FROM exports WHERE account_id = $1 AND ${OPEN}) < ${MAX_OPEN}
          AND NOT EXISTS (SELECT 1 FROM exports AS other WHERE other.account_id = $1 AND other.slot = free.slot AND other.${OPEN})
        ORDER BY free.slot LIMIT 1
        ON CONFLICT (account_id, slot) WHERE ${OPEN} DO NOTHING
        RETURNING ${COLUMNS}
      ), audited AS (
        INSERT INTO audit_lines (account_id, actor, action, details)
        SELECT account_id, $5::text, 'export.created', jsonb_build_object('export_id', id, 'kind', kind, 'format', format) FROM made
      ) SELECT ${COLUMNS} FROM made`;
    // a concurrent request may take a slot first, at most MAX_OPEN times
    for (let attempt = 1; attempt <= MAX_OPEN; attempt++) {
      const [row] = await this.#rows(sql, [accountId, kind, format, JSON.stringify(spec), actor]);
      if (!row) continue;
      this.#queued++;
      return itemOf(row);
    }
    return undefined;
  }

  /**
   * Claims a job that is due, also one whose worker sends no heartbeat: at most one of an account
   * runs, and the next is of the account that was served longest ago. Undefined: there is none.
   */
  async claim(): Promise<ExportJob | undefined> {
    const due = `SELECT id FROM exports AS job WHERE ${OPEN} AND due_at <= clock_timestamp()
        AND (status = 'running' OR NOT EXISTS (SELECT 1 FROM exports AS other WHERE other.account_id = job.account_id AND other.status = 'running'))
      ORDER BY (SELECT max(claimed_at) FROM exports AS served WHERE served.account_id = job.account_id) NULLS FIRST, due_at, id
      LIMIT 1 FOR UPDATE SKIP LOCKED`;
    const sql = `UPDATE exports SET status = 'running', attempt = attempt + 1, failures = failures + (status = 'running')::integer,
      claimed_at = clock_timestamp(), due_at = ${LEASE}, rows = 0, bytes = 0 WHERE id = (${due}) RETURNING ${COLUMNS}`;
    const [row] = await this.#rows(sql, []).catch((error: unknown): Row[] => {
      // another worker claimed a job of the same account at the same time
      if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return [];
      throw error;
    });
    return (
      row && {
        id: row.id,
        accountId: Number(row.account_id),
        kind: row.kind,
        format: row.format,
        spec: row.spec,
        attempt: row.attempt,
        failures: row.failures,
      }
    );
  }

  /** Bytes of the files that an account has. */
  async storedBytes(accountId: number): Promise<number> {
    const { rows } = await this.#database.query<{ bytes: string }>(
      "SELECT coalesce(sum(bytes), 0) AS bytes FROM exports WHERE account_id = $1 AND status = 'ready'",
      [accountId],
    );
    return Number(rows[0]?.bytes ?? 0);
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
  async release(
    { id, attempt }: ExportJob,
    { delay, isFailure }: { delay: number; isFailure: boolean },
  ): Promise<boolean> {
    const sql = `UPDATE exports SET status = 'queued', failures = failures + $4, due_at = clock_timestamp() + $3 * interval '1 millisecond' WHERE ${HELD}`;
    const isReleased = await this.#changed(sql, [id, attempt, delay, isFailure ? 1 : 0]);
    if (isReleased) this.#queued++;
    return isReleased;
  }

  async fail({ id, attempt }: ExportJob, error: string): Promise<boolean> {
    return this.#changed(
      `UPDATE exports SET status = 'failed', error = $3, finished_at = clock_timestamp() WHERE ${HELD}`,
      [id, attempt, error],
    );
  }

  /** Ready exports whose time is over, oldest first: remove the file, then mark the export. */
  async listExpired(limit: number): Promise<ExpiredFile[]> {
    const sql = `SELECT id, file FROM exports WHERE status = 'ready' AND expires_at <= clock_timestamp() ORDER BY expires_at LIMIT $1`;
    return (await this.#database.query<ExpiredFile>(sql, [limit])).rows;
  }

  async markExpired({ id }: ExpiredFile): Promise<void> {
    await this.#database.query(
      "UPDATE exports SET status = 'expired' WHERE id = $1 AND status = 'ready'",
      [id],
    );
  }

  /** Of these exports: the attempt that runs, or the file that is ready. */
  async filesInUse(
    ids: readonly string[],
  ): Promise<Map<string, { attempt: number | undefined; file: string | undefined }>> {
    const { rows } = await this.#database.query<{
      id: string;
      status: string;
      attempt: number;
      file: string | null;
    }>(
      "SELECT id, status, attempt, file FROM exports WHERE id = ANY($1::bigint[]) AND status IN ('running', 'ready')",
      [[...ids]],
    );
    return new Map(
      rows.map(({ id, status, attempt, file }) => [
        id,
        {
          attempt: status === 'running' ? attempt : undefined,
          file: status === 'ready' ? (file ?? undefined) : undefined,
        },
      ]),
    );
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
