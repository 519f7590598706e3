import type { Database } from '../../platform/postgres/pool.ts';
import type { Topic } from '../../schemas/topology.ts';

type RewriteState = 'waiting' | 'switched' | 'done';

/** A row of erasure_rewrites: a copy that was begun is completed for the same people. */
export interface TopicRewrite {
  topic: Topic;
  erasures: readonly number[];
  state: RewriteState;
}

/** What the rewriting of the log has done, in PostgreSQL. */
export class RewriteStore {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /**
   * Continues a rewriting, or begins one for every removed erasure, and resolves with its erasures;
   * none: there is nothing to do.
   */
  async begin(topics: readonly Topic[]): Promise<number[]> {
    await this.#database.query(
      `INSERT INTO erasure_rewrites (topic, erasures)
       SELECT topic, removed.ids FROM unnest($1::text[]) AS topic,
         (SELECT array_agg(id ORDER BY id) AS ids FROM erasures WHERE state = 'removed') AS removed
       WHERE removed.ids IS NOT NULL AND NOT EXISTS (SELECT 1 FROM erasure_rewrites)`,
      [topics],
    );
    return [...new Set((await this.all()).flatMap(({ erasures }) => erasures))];
  }

  /** events.raw last: what is derived from it is rewritten before. */
  async all(): Promise<TopicRewrite[]> {
    const { rows } = await this.#database.query<{
      topic: Topic;
      erasures: string[];
      state: RewriteState;
    }>(
      `SELECT topic, erasures::text[] AS erasures, state FROM erasure_rewrites
       ORDER BY topic = 'events.raw', topic`,
    );
    return rows.map((row) => ({ ...row, erasures: row.erasures.map(Number) }));
  }

  async advance(topic: Topic, state: RewriteState): Promise<void> {
    await this.#database.query(
      `UPDATE erasure_rewrites SET state = $2, changed_at = clock_timestamp() WHERE topic = $1`,
      [topic, state],
    );
  }

  async end(): Promise<void> {
    await this.#database.query(
      `DELETE FROM erasure_rewrites
       WHERE NOT EXISTS (SELECT 1 FROM erasure_rewrites WHERE state <> 'done')`,
    );
  }
}
