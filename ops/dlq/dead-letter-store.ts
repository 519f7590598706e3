import { standsFor } from '../../pipeline/dead-letters/dead-letter.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { DeadLetterState, StateCount } from './groups.ts';

/** A row of dead_letters. */
export interface DeadLetterRow {
  /** Key of the dead letter (pipeline/dead-letters); the column `letter`. */
  key: string;
  dead_partition: number;
  dead_offset: number;
  stage: string;
  reason: string;
  fingerprint: string;
  topic: string;
  partition: number;
  offset: number;
  index: number | null;
  /** Several failed items of the record; `index` is the first. */
  indexes: number[] | null;
  events: number;
  account_id: number | null;
  message_id: string;
  /** ms since the epoch */
  failed_at: number;
  state: DeadLetterState;
  attempt: string | null;
  /** ms since the epoch; null: never redriven */
  attempt_at: number | null;
  /** Age of the attempt by the clock of PostgreSQL, ms. */
  attempt_age: number | null;
  raw_end: number | null;
  redriven_to: number | null;
  note: string | null;
}

const COLUMNS = `letter AS key, dead_partition, dead_offset::float8, stage, reason, fingerprint, topic, partition, record_offset::float8 AS offset, item AS index, items AS indexes, events,
  account_id::float8, message_id, extract(epoch FROM failed_at)::float8 * 1000 AS failed_at, state, attempt, extract(epoch FROM attempt_at)::float8 * 1000 AS attempt_at,
  extract(epoch FROM now() - attempt_at)::float8 * 1000 AS attempt_age, raw_end::float8, redriven_to::float8, note`;

/** One discard changes all its dead letters at one time. Of erased people nothing is left. */
const LAST_DISCARD = `fingerprint = $1 AND state = 'discarded' AND NOT erased AND ($2::bigint IS NULL OR account_id = $2)
  AND changed_at = (SELECT max(changed_at) FROM dead_letters
    WHERE fingerprint = $1 AND state = 'discarded' AND NOT erased AND ($2::bigint IS NULL OR account_id = $2))`;

/**
 * States of dead letters in PostgreSQL. Every change is one statement with the expected state in
 * its condition, so that of two operators only one changes a dead letter.
 */
export class DeadLetterStore {
  readonly #database: Database;
  readonly #accountId: number | null;

  /** With an account, groups are those of its dead letters alone. */
  constructor(database: Database, accountId?: number) {
    this.#database = database;
    this.#accountId = accountId ?? null;
  }

  async counts(): Promise<StateCount[]> {
    const { rows } = await this.#database.query<StateCount>(
      `SELECT fingerprint, max(stage) AS stage, max(reason) AS reason, state, count(*)::int AS "deadLetters", sum(events)::int AS events,
         extract(epoch FROM min(failed_at))::float8 * 1000 AS first, extract(epoch FROM max(failed_at))::float8 * 1000 AS last,
         (array_agg(letter ORDER BY failed_at DESC, letter))[1] AS sample
       FROM dead_letters WHERE $1::bigint IS NULL OR account_id = $1 GROUP BY fingerprint, state`,
      [this.#accountId],
    );
    return rows;
  }

  /** Dead letters of a group in one state, ordered by position, after the key `after`. */
  async ofGroup(
    group: string,
    options: { state: DeadLetterState; limit: number; after?: string | undefined },
  ): Promise<DeadLetterRow[]> {
    const { rows } = await this.#database.query<DeadLetterRow>(
      `SELECT ${COLUMNS} FROM dead_letters WHERE fingerprint = $1 AND state = $2 AND ($5::bigint IS NULL OR account_id = $5)
         AND ($4::text IS NULL OR (partition, record_offset, coalesce(item, 0), letter) > (SELECT partition, record_offset, coalesce(item, 0), letter FROM dead_letters WHERE letter = $4))
       ORDER BY partition, record_offset, coalesce(item, 0), letter LIMIT $3`,
      [group, options.state, options.limit, options.after ?? null, this.#accountId],
    );
    return rows;
  }

  async newestOfGroup(group: string, limit: number): Promise<DeadLetterRow[]> {
    const { rows } = await this.#database.query<DeadLetterRow>(
      `SELECT ${COLUMNS} FROM dead_letters WHERE fingerprint = $1 AND ($3::bigint IS NULL OR account_id = $3)
       ORDER BY failed_at DESC, letter LIMIT $2`,
      [group, limit, this.#accountId],
    );
    return rows;
  }

  async find(key: string): Promise<DeadLetterRow | undefined> {
    return (
      await this.#database.query<DeadLetterRow>(
        `SELECT ${COLUMNS} FROM dead_letters WHERE letter = $1`,
        [key],
      )
    ).rows[0];
  }

  /** Dead letters of a message, and those at one of these positions of a topic. */
  async ofEvent(options: {
    accountId: number;
    messageId: string;
    positions: readonly { topic: string; partition: number; offset: number; index: number }[];
  }): Promise<DeadLetterRow[]> {
    const { positions } = options;
    const { rows } = await this.#database.query<DeadLetterRow>(
      `SELECT ${COLUMNS} FROM dead_letters WHERE (account_id = $1 AND message_id = $2)
         OR (topic, partition, record_offset) IN (SELECT * FROM unnest($3::text[], $4::int[], $5::bigint[])) ORDER BY failed_at LIMIT 50`,
      [
        options.accountId,
        options.messageId,
        positions.map(({ topic }) => topic),
        positions.map(({ partition }) => partition),
        positions.map(({ offset }) => offset),
      ],
    );
    return rows.filter(
      (row) =>
        row.message_id === options.messageId ||
        row.index === null ||
        positions.some(
          ({ topic, partition, offset, index }) =>
            topic === row.topic &&
            partition === row.partition &&
            offset === row.offset &&
            standsFor(row, index),
        ),
    );
  }

  /**
   * Records that `attempt` is about to publish these dead letters; `rawEnd` is the high watermark
   * of the raw partition now. Returns the keys of those that were still dead.
   */
  async begin(
    deadLetters: readonly { key: string; rawEnd: number | null }[],
    attempt: string,
  ): Promise<Set<string>> {
    const { rows } = await this.#database.query<{ key: string }>(
      `UPDATE dead_letters SET state = 'redriving', attempt = $3, attempt_at = clock_timestamp(), raw_end = begun.raw_end, changed_at = now()
       FROM unnest($1::text[], $2::bigint[]) AS begun (letter, raw_end) WHERE dead_letters.letter = begun.letter AND state = 'dead' RETURNING dead_letters.letter AS key`,
      [deadLetters.map(({ key }) => key), deadLetters.map(({ rawEnd }) => rawEnd), attempt],
    );
    return new Set(rows.map(({ key }) => key));
  }

  /** Records that the new raw records are in the log. */
  async redriven(
    deadLetters: readonly { key: string; to: number }[],
    attempt: string,
  ): Promise<void> {
    await this.#database.query(
      `UPDATE dead_letters SET state = 'redriven', redriven_to = done.at, changed_at = now()
       FROM unnest($1::text[], $2::bigint[]) AS done (letter, at) WHERE dead_letters.letter = done.letter AND state = 'redriving' AND attempt = $3`,
      [deadLetters.map(({ key }) => key), deadLetters.map(({ to }) => to), attempt],
    );
  }

  /** Nothing of these reached the log: they are dead again. */
  async release(keys: readonly string[], attempt: string): Promise<void> {
    await this.#database.query(
      `UPDATE dead_letters SET state = 'dead', changed_at = now() WHERE letter = ANY ($1::text[]) AND state = 'redriving' AND attempt = $2`,
      [keys, attempt],
    );
  }

  /** Takes over dead letters of redrives that never ended; returns the keys it won. */
  async takeOver(deadLetters: readonly DeadLetterRow[], attempt: string): Promise<Set<string>> {
    const { rows } = await this.#database.query<{ key: string }>(
      `UPDATE dead_letters SET attempt = $3, changed_at = now() FROM unnest($1::text[], $2::text[]) AS old (letter, attempt)
       WHERE dead_letters.letter = old.letter AND dead_letters.attempt = old.attempt AND state = 'redriving' RETURNING dead_letters.letter AS key`,
      [deadLetters.map(({ key }) => key), deadLetters.map((one) => one.attempt), attempt],
    );
    return new Set(rows.map(({ key }) => key));
  }

  /**
   * This attempt is about to publish more of the dead letter: after a crash the next redrive
   * searches the log until two minutes after now.
   */
  async continues(key: string, attempt: string): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `UPDATE dead_letters SET attempt_at = clock_timestamp(), changed_at = now() WHERE letter = $1 AND attempt = $2 AND state = 'redriving'`,
      [key, attempt],
    );
    return rowCount === 1;
  }

  /** Returns how many dead letters and events were discarded. */
  async discard(group: string, note: string): Promise<{ deadLetters: number; events: number }> {
    const { rows } = await this.#database.query<{ deadLetters: number; events: number }>(
      `WITH gone AS (UPDATE dead_letters SET state = 'discarded', note = $2, changed_at = now() WHERE fingerprint = $1 AND state = 'dead' AND ($3::bigint IS NULL OR account_id = $3) RETURNING events)
       SELECT count(*)::int AS "deadLetters", coalesce(sum(events), 0)::int AS events FROM gone`,
      [group, note, this.#accountId],
    );
    return rows[0] ?? { deadLetters: 0, events: 0 };
  }

  /** Events of the dead letters that a discard of the group would end. */
  async deadEvents(group: string): Promise<number> {
    const { rows } = await this.#database.query<{ events: number }>(
      `SELECT coalesce(sum(events), 0)::int AS events FROM dead_letters WHERE fingerprint = $1 AND state = 'dead' AND ($2::bigint IS NULL OR account_id = $2)`,
      [group, this.#accountId],
    );
    return rows[0]?.events ?? 0;
  }

  /** What the last discard of a group left: how many dead letters, its reason; undefined: none. */
  async lastDiscard(
    group: string,
  ): Promise<{ deadLetters: number; events: number; note: string } | undefined> {
    const { rows } = await this.#database.query<{
      deadLetters: number;
      events: number;
      note: string | null;
    }>(
      `SELECT count(*)::int AS "deadLetters", coalesce(sum(events), 0)::int AS events, max(note) AS note FROM dead_letters WHERE ${LAST_DISCARD}`,
      [group, this.#accountId],
    );
    const [row] = rows;
    return row && row.deadLetters > 0 ? { ...row, note: row.note ?? '' } : undefined;
  }

  /** Dead letters of the last discard are dead again; returns how many. */
  async restore(group: string): Promise<{ deadLetters: number; events: number }> {
    const { rows } = await this.#database.query<{ deadLetters: number; events: number }>(
      `WITH back AS (UPDATE dead_letters SET state = 'dead', note = NULL, changed_at = now() WHERE ${LAST_DISCARD} RETURNING events)
       SELECT count(*)::int AS "deadLetters", coalesce(sum(events), 0)::int AS events FROM back`,
      [group, this.#accountId],
    );
    return rows[0] ?? { deadLetters: 0, events: 0 };
  }
}
