import type { Database } from '../../platform/postgres/pool.ts';
import { delay } from '../../platform/backoff.ts';
import { CommandError } from '../../cli/command.ts';

/** A row of log_jobs. The caller defines the contents of the jsonb columns. */
export interface Job<Plan, Positions, Recorded, Counts> {
  id: number;
  ownerEpoch: number;
  state: 'running' | 'finished' | 'cancelled';
  command: string;
  plan: Plan;
  positions: Positions;
  recorded: Recorded | null;
  counts: Counts;
  startedAt: number;
}

/** Another process owns the job now: this one may not write any more. */
export class JobLost extends Error {
  constructor(id: number) {
    super(`job ${id} was taken over by another process`);
    this.name = 'JobLost';
  }
}

/** Reports a lost job as a sentence for the operator. */
export function refuseLostJob(error: unknown): never {
  if (error instanceof JobLost)
    throw new CommandError('another process took this job over: this one has stopped');
  throw error;
}

interface Row {
  id: string;
  owner_epoch: string;
  state: 'running' | 'finished' | 'cancelled';
  command: string;
  plan: unknown;
  positions: unknown;
  recorded: unknown;
  counts: unknown;
  started_at: Date;
  updated: string;
}

const COLUMNS =
  'id, owner_epoch, state, command, plan, positions, recorded, counts, started_at, updated_at::text AS updated';

function jobOf<P, O, R, C>(row: Row): Job<P, O, R, C> {
  const { plan, positions, recorded, counts } = row as unknown as {
    plan: P;
    positions: O;
    recorded: R | null;
    counts: C;
  };
  return {
    ...{
      id: Number(row.id),
      ownerEpoch: Number(row.owner_epoch),
      state: row.state,
      command: row.command,
    },
    ...{ plan, positions, recorded, counts, startedAt: row.started_at.getTime() },
  };
}

/** The running job of a table. */
export async function runningJob<P, O, R, C>(
  database: Database,
  target: string,
): Promise<Job<P, O, R, C> | undefined> {
  const { rows } = await database.query<Row>(
    `SELECT ${COLUMNS} FROM log_jobs WHERE target = $1 AND state = 'running'`,
    [target],
  );
  return rows[0] && jobOf(rows[0]);
}

/** The last job of a kind and table, in any state. */
export async function lastJob<P, O, R, C>(
  database: Database,
  kind: string,
  target: string,
): Promise<Job<P, O, R, C> | undefined> {
  const { rows } = await database.query<Row>(
    `SELECT ${COLUMNS} FROM log_jobs WHERE kind = $1 AND target = $2 ORDER BY id DESC LIMIT 1`,
    [kind, target],
  );
  return rows[0] && jobOf(rows[0]);
}

/** Starts a job. Rejects with CommandError when another one writes the table already. */
export async function startJob<P, O, R, C>(
  database: Database,
  job: { kind: 'replay' | 'rebuild'; command: string; target: string; plan: P; counts: C },
): Promise<Job<P, O, R, C>> {
  const { rows } = await database.query<Row>(
    `INSERT INTO log_jobs (kind, command, target, plan, counts) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
    [job.kind, job.command, job.target, JSON.stringify(job.plan), JSON.stringify(job.counts)],
  );
  if (!rows[0])
    throw new CommandError(
      `another job has just started to write ${job.target}: run the command again to see which one`,
    );
  return jobOf(rows[0]);
}

/** A job whose row was not updated for this long has lost its process, ms. */
const SILENCE_MS = 6000;

/** Becomes a job's owner; throws CommandError while its process runs. Finished jobs rerun. */
export async function takeOverJob<P, O, R, C>(
  database: Database,
  id: number,
): Promise<Job<P, O, R, C>> {
  const readRow = async () =>
    (await database.query<Row>(`SELECT ${COLUMNS} FROM log_jobs WHERE id = $1`, [id])).rows[0];
  const before = await readRow();
  if (before?.state === 'running') {
    await delay(SILENCE_MS);
    const after = await readRow();
    if (after?.updated !== before.updated)
      throw new CommandError(
        'another process is running this job: stop it there (Ctrl-C) to continue it here',
      );
  }
  const { rows } = await database.query<Row>(
    `UPDATE log_jobs SET owner_epoch = owner_epoch + 1, state = 'running', finished_at = NULL, updated_at = clock_timestamp() WHERE id = $1 RETURNING ${COLUMNS}`,
    [id],
  );
  if (!rows[0]) throw new CommandError(`there is no job ${id}`);
  return jobOf(rows[0]);
}

export interface JobChange {
  positions?: unknown;
  /** null: no range is open. */
  recorded?: unknown;
  counts?: unknown;
  state?: 'finished' | 'cancelled';
}

/** A job under its owner's epoch: methods reject with JobLost when another process owns it. */
export class OwnedJob {
  readonly id: number;
  readonly epoch: number;
  readonly #database: Database;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(database: Database, job: { id: number; ownerEpoch: number }) {
    this.#database = database;
    this.id = job.id;
    this.epoch = job.ownerEpoch;
    this.#heartbeat = setInterval(() => void this.confirm().catch(() => undefined), 1500).unref();
  }

  /** Updates the heartbeat; rejects with JobLost when another process owns the job. */
  async confirm(): Promise<void> {
    await this.update({});
  }

  /** Writes the change; rejects with JobLost when another process owns the job. */
  async update(change: JobChange): Promise<void> {
    const text = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
    const set = [
      ...(change.positions === undefined ? [] : ['positions = $3::text::jsonb']),
      ...(change.recorded === undefined
        ? []
        : ["recorded = NULLIF($4::text::jsonb, 'null'::jsonb)"]),
      ...(change.counts === undefined ? [] : ['counts = $5::text::jsonb']),
      ...(change.state === undefined
        ? []
        : [`state = '${change.state}', finished_at = clock_timestamp()`]),
      'updated_at = clock_timestamp()',
    ];
    const statement = `WITH given AS (SELECT $3::text, $4::text, $5::text) UPDATE log_jobs SET ${set.join(', ')} WHERE id = $1 AND owner_epoch = $2 RETURNING id`;
    const values = [
      this.id,
      this.epoch,
      text(change.positions),
      text(change.recorded),
      text(change.counts),
    ];
    const { rowCount } = await this.#database.query(statement, values);
    if (rowCount !== 1) throw new JobLost(this.id);
  }

  close(): void {
    clearInterval(this.#heartbeat);
  }
}
