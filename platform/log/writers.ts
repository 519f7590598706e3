import type { Database } from '../postgres/pool.ts';

/** What a process that publishes raw records does about a change of the layout. */
export type WriterPhase = 'passing' | 'draining' | 'held' | 'waiting' | 'releasing';

/** A row of gateway_instances. */
export interface Writer {
  instance: string;
  service: string;
  generation: number;
  phase: WriterPhase;
  /** One sentence; empty: for nothing. */
  waitsFor: string;
  /** Accepted events in its spool. */
  spooled: number;
}

type Queries = Pick<Database, 'query'>;

/** A writer whose name begins so is a command of an operator. */
export const COMMAND = './ravand ';

/** A process that was not seen for this long is taken for dead or suspended, ms. */
export const WRITER_LIVES_FOR = 15_000;

/** A row that says nothing new is written again after this time, ms. */
const SEEN_AGAIN_AFTER = 4000;

/**
 * Writes the row of a process when it changed, and every few seconds: each write of an idle
 * installation is one of its disk, too.
 */
export class WriterRow {
  readonly #database: Queries;
  #written = '';
  #at = Number.NEGATIVE_INFINITY;

  constructor(database: Queries) {
    this.#database = database;
  }

  async write(writer: Writer): Promise<void> {
    const row = JSON.stringify(writer);
    const at = performance.now();
    if (row === this.#written && at - this.#at < SEEN_AGAIN_AFTER) return;
    await writeWriter(this.#database, writer);
    this.#written = row;
    this.#at = at;
  }
}

/**
 * Writes the row of a process, and removes those of processes that ended long ago, unless they left
 * events in a spool: these come into the log when the process starts again.
 */
export async function writeWriter(database: Queries, writer: Writer): Promise<void> {
  const { instance, service, generation, phase, waitsFor, spooled } = writer;
  await database.query(
    `WITH old AS (DELETE FROM gateway_instances WHERE seen_at < clock_timestamp() - interval '1 hour' AND spooled = 0)
     INSERT INTO gateway_instances (instance, service, generation, phase, waits_for, spooled)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (instance) DO UPDATE SET generation = excluded.generation, phase = excluded.phase,
       waits_for = excluded.waits_for, spooled = excluded.spooled, seen_at = clock_timestamp()`,
    [instance, service, generation, phase, waitsFor, spooled],
  );
}

export async function removeWriter(database: Queries, instance: string): Promise<void> {
  await database.query('DELETE FROM gateway_instances WHERE instance = $1', [instance]);
}

/** Removes processes that ended before the last change of the layout. */
export async function forgetFormerWriters(database: Queries): Promise<void> {
  await database.query(
    `DELETE FROM gateway_instances WHERE generation < (SELECT generation FROM log_layout)
       AND seen_at < clock_timestamp() - make_interval(secs => $1)`,
    [WRITER_LIVES_FOR / 1000],
  );
}

/** `age`: ms since the process was seen. */
export async function readWriters(database: Queries): Promise<(Writer & { age: number })[]> {
  const { rows } = await database.query<{
    instance: string;
    service: string;
    generation: number;
    phase: WriterPhase;
    waits_for: string;
    spooled: string;
    age: string;
  }>(
    `SELECT instance, service, generation, phase, waits_for, spooled,
       extract(epoch FROM clock_timestamp() - seen_at) * 1000 AS age
     FROM gateway_instances ORDER BY instance`,
  );
  return rows.map(({ waits_for: waitsFor, spooled, age, ...row }) => ({
    ...row,
    waitsFor,
    spooled: Number(spooled),
    age: Number(age),
  }));
}
