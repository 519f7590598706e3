import type { Database } from '../../platform/postgres/pool.ts';
import type { LeasedRun } from './run.ts';
import { CHECKPOINT, EXTEND, FAIL, FREEZE, LEASE, LOOK, RELEASE, START_DUE } from './statements.ts';

/** What a process may lease: runs whose audience is to be frozen, runs whose chunks are written. */
export interface Wanted {
  freezes: boolean;
  slices: boolean;
}

/** What there may be to do. */
export interface Work {
  /** Instances of recurrences are due. */
  instances: boolean;
  /** Scheduled runs are due. */
  due: boolean;
  /** Runs are being planned. */
  planning: boolean;
}

/** What became of runs that were due. */
export type Started = Partial<Record<'planning' | 'confirm' | 'cancelled', number>>;

interface LeasedRow {
  id: string;
  campaign_id: string;
  account_id: string;
  definition: unknown;
  fence: string;
  freeze_attempt: number;
  frozen_ms: string | null;
  planned: string;
  chunks: number;
  last_key: string;
}

/**
 * The runs of campaigns in PostgreSQL (0060_messages.sql), as the planner changes them. Each method
 * is one statement, and rejects when the store is unavailable: the statement has then happened or
 * not. A method that answers false was called under a lease that another process has taken since.
 */
export class RunStore {
  readonly #database: Pick<Database, 'query'>;
  readonly #holder: string;
  readonly #leaseSeconds: number;

  /** @param holder names this process among all planners */
  constructor(
    database: Pick<Database, 'query'>,
    { holder, leaseSeconds }: { holder: string; leaseSeconds: number },
  ) {
    this.#database = database;
    this.#holder = holder;
    this.#leaseSeconds = leaseSeconds;
  }

  /** Cheap: all that an idle process asks. */
  async look(): Promise<Work> {
    const { rows } = await this.#database.query<Work>(LOOK);
    return rows[0] ?? { instances: false, due: false, planning: false };
  }

  /** Starts at most `limit` scheduled runs that are due, or asks about those that are late. */
  async startDue(limit: number): Promise<Started> {
    const { rows } = await this.#database.query<{ state: keyof Started; runs: number }>(START_DUE, [
      limit,
    ]);
    return Object.fromEntries(rows.map(({ state, runs }) => [state, runs]));
  }

  /**
   * Leases a run of the account that waits longest for its turn. Undefined: none is ready. An
   * account has at most one freeze and one slice at a time.
   */
  async lease({ freezes, slices }: Wanted): Promise<LeasedRun | undefined> {
    const { rows } = await this.#database.query<LeasedRow>(LEASE, [
      this.#holder,
      this.#leaseSeconds,
      freezes,
      slices,
    ]);
    return rows[0] && runOf(rows[0]);
  }

  extend({ id, fence }: LeasedRun): Promise<boolean> {
    return this.#change(EXTEND, [id, fence, this.#leaseSeconds]);
  }

  /** Gives a run back; it is leased again after `seconds` at the earliest. */
  release({ id, fence }: LeasedRun, seconds: number): Promise<boolean> {
    return this.#change(RELEASE, [id, fence, seconds]);
  }

  /** Records the frozen audience, counts its people as planned, and gives the run back. */
  recordFrozen(
    { id, fence, freezeAttempt }: LeasedRun,
    { at, people, frozen }: { at: number; people: number; frozen: object },
  ): Promise<boolean> {
    const values = [id, fence, freezeAttempt, new Date(at).toISOString(), people];
    return this.#change(FREEZE, [...values, JSON.stringify(frozen)]);
  }

  /** Records chunks that are durable, and gives the run back. */
  checkpoint(
    run: LeasedRun,
    { chunks, lastKey, isPlanned }: { chunks: number; lastKey: string; isPlanned: boolean },
  ): Promise<boolean> {
    return this.#change(CHECKPOINT, [run.id, run.fence, run.chunks, chunks, lastKey, isPlanned]);
  }

  /** Ends a run that cannot be planned. @param error a sentence for the account */
  fail({ id, fence }: LeasedRun, error: string): Promise<boolean> {
    return this.#change(FAIL, [id, fence, error]);
  }

  async #change(statement: string, values: unknown[]): Promise<boolean> {
    return (await this.#database.query(statement, values)).rows.length > 0;
  }
}

function runOf(row: LeasedRow): LeasedRun {
  return {
    id: Number(row.id),
    campaignId: Number(row.campaign_id),
    accountId: Number(row.account_id),
    definition: row.definition,
    fence: Number(row.fence),
    freezeAttempt: row.freeze_attempt,
    frozen:
      row.frozen_ms === null
        ? undefined
        : { at: Number(row.frozen_ms), people: Number(row.planned) },
    chunks: row.chunks,
    lastKey: row.last_key,
  };
}
