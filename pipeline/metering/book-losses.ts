import type { Admin } from 'kafkajs';
import { topicEnds } from '../../platform/kafka/admin.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { METERING_READER } from '../../schemas/topology.ts';
import { COUNTED_TOPICS } from './counting-task.ts';

/** A minute or day whose counts do not match the stored rows, although nothing is in flight. */
export interface BookGap {
  account_id: number;
  /** ms since the epoch. */
  start: number;
  /** Published and never stored; negative: stored and never counted as published. */
  gap: number;
}

/** A run of `./ravand log advance-epoch` whose losses are not in the books yet. */
export interface OpenLoss {
  id: number;
  /** When the command began: nothing that was received later is lost. ms since the epoch. */
  startedAt: number;
  finishedAt: number;
}

const OPEN = `SELECT id::float8, extract(epoch FROM started_at)::float8 * 1000 AS started, extract(epoch FROM finished_at)::float8 * 1000 AS finished
  FROM log_advances WHERE state = 'finished' AND booked_at IS NULL ORDER BY id LIMIT 1`;

/** The oldest loss that is not booked. Rejects without PostgreSQL. */
export async function openLoss(database: Pick<Database, 'query'>): Promise<OpenLoss | undefined> {
  const { rows } = await database.query<{ id: number; started: number; finished: number }>(OPEN);
  const [row] = rows;
  return row && { id: row.id, startedAt: row.started, finishedAt: row.finished };
}

const BOOK = `WITH open AS (
    UPDATE log_advances SET booked_at = CASE WHEN $2 THEN now() END WHERE id = $1 AND booked_at IS NULL RETURNING id
  )
  INSERT INTO book_losses AS l (account_id, minute, lost)
  SELECT found.* FROM unnest($3::bigint[], $4::timestamptz[], $5::bigint[]) AS found, open
  ON CONFLICT (account_id, minute) DO UPDATE SET lost = l.lost + excluded.lost`;

/**
 * Adds what is missing to the books as lost, in one statement: repeated, it changes nothing.
 * `isLast`: nothing else is missing.
 */
export async function bookLosses(
  database: Pick<Database, 'query'>,
  { loss, gaps, isLast }: { loss: OpenLoss; gaps: readonly BookGap[]; isLast: boolean },
): Promise<void> {
  await database.query(BOOK, [
    loss.id,
    isLast,
    gaps.map(({ account_id }) => account_id),
    gaps.map(({ start }) => new Date(start)),
    gaps.map(({ gap }) => gap),
  ]);
}

/**
 * Whether every counted topic has been counted up to the ends that it had after the loss. Asked
 * repeatedly: the ends are read once per loss.
 */
export class CountedSince {
  #loss: number | undefined;
  #ends: { topic: string; partition: number; high: number }[] = [];

  async isReached(
    admin: Admin,
    database: Pick<Database, 'query'>,
    loss: OpenLoss,
  ): Promise<boolean> {
    if (this.#loss !== loss.id) {
      const ends = await Promise.all(
        Object.keys(COUNTED_TOPICS).map(async (topic) =>
          (await topicEnds(admin, topic)).map(({ partition, high }) => ({
            topic,
            partition,
            high,
          })),
        ),
      );
      this.#ends = ends.flat().filter(({ high }) => high > 0);
      this.#loss = loss.id;
    }
    const { rows } = await database.query<{ topic: string; partition: number; next: number }>(
      'SELECT topic, partition, next_offset::float8 AS next FROM log_positions WHERE reader = $1',
      [METERING_READER],
    );
    const counted = new Map(rows.map((row) => [`${row.topic}/${row.partition}`, row.next]));
    return this.#ends.every(
      ({ topic, partition, high }) => (counted.get(`${topic}/${partition}`) ?? 0) >= high,
    );
  }
}
