import type { Database } from '../../platform/postgres/pool.ts';
import { BOOKED, type MinuteDelta } from './count.ts';
import { METERING_READER } from '../../schemas/topology.ts';

export interface CountingPosition {
  next: number;
  state: Record<string, unknown>;
}

/** The position up to which a partition has been counted. */
export async function readPosition(
  database: Pick<Database, 'query'>,
  topic: string,
  partition: number,
): Promise<CountingPosition> {
  const answer = await database.query<{ next_offset: string; state: Record<string, unknown> }>(
    'SELECT next_offset, state FROM log_positions WHERE reader = $1 AND topic = $2 AND partition = $3',
    [METERING_READER, topic, partition],
  );
  const row = answer.rows[0];
  return row ? { next: Number(row.next_offset), state: row.state } : { next: 0, state: {} };
}

/** Another process counts this partition now; the counts of this process were not written. */
export class PositionMoved extends Error {
  constructor(topic: string, partition: number) {
    super(
      `another process counts ${topic} ${partition} now; restarting from the recorded position`,
    );
    this.name = 'PositionMoved';
  }
}

const ADDED = BOOKED.map((name) => `${name} = books.${name} + excluded.${name}`).join(', ');

const WRITE = `
WITH moved AS (
  INSERT INTO log_positions (reader, topic, partition, next_offset, state) VALUES ('${METERING_READER}', $1, $2, $4, $5)
  ON CONFLICT (reader, topic, partition) DO UPDATE SET next_offset = excluded.next_offset, state = excluded.state, updated_at = now()
  WHERE log_positions.next_offset = $3
  RETURNING 1
), booked AS (
  INSERT INTO books (account_id, minute, ${BOOKED.join(', ')})
  SELECT * FROM unnest($6::bigint[], $7::timestamptz[], ${BOOKED.map((_, at) => `$${at + 8}::bigint[]`).join(', ')}) WHERE EXISTS (SELECT 1 FROM moved)
  ON CONFLICT (account_id, minute) DO UPDATE SET ${ADDED}, open = true, changed_at = now()
  RETURNING 1
), metered AS (
  INSERT INTO meters (account_id, meter, month, value)
  SELECT account_id, 'events', month, sum(value) FROM unnest($${BOOKED.length + 8}::bigint[], $${BOOKED.length + 9}::text[], $${BOOKED.length + 10}::bigint[]) AS m (account_id, month, value)
  WHERE EXISTS (SELECT 1 FROM moved) GROUP BY account_id, month
  ON CONFLICT (account_id, meter, month) DO UPDATE SET value = meters.value + excluded.value, updated_at = now()
  RETURNING 1
)
SELECT (SELECT count(*) FROM moved)::int AS moved`;

interface Counted {
  topic: string;
  partition: number;
  /** Position before and after. */
  from: number;
  next: number;
  state: Record<string, unknown>;
  deltas: readonly MinuteDelta[];
  /** Jalali month in Tehran of an instant. */
  monthOf: (at: number) => string;
}

/**
 * Moves the position and adds the counts in one statement, so that a crash neither loses nor
 * repeats a count. The events meter counts accepted events once: repeats, duplicates, dead letters
 * and what the platform wrote itself are not billed (ingest 8). Throws PositionMoved when the
 * position is not the expected one.
 */
export async function writeCounts(
  database: Pick<Database, 'query'>,
  counted: Counted,
): Promise<void> {
  // One order for all writers: two of them never wait for each other's rows.
  const deltas = counted.deltas.toSorted(
    (a, b) => a.account_id - b.account_id || a.minute - b.minute,
  );
  const answer = await database.query<{ moved: number }>(WRITE, [
    counted.topic,
    counted.partition,
    counted.from,
    counted.next,
    JSON.stringify(counted.state),
    deltas.map((delta) => delta.account_id),
    deltas.map((delta) => new Date(delta.minute)),
    ...BOOKED.map((name) => deltas.map((delta) => delta[name])),
    deltas.map((delta) => delta.account_id),
    deltas.map((delta) => counted.monthOf(delta.minute)),
    deltas.map(
      ({ places, repeats, duplicates_after, dead, unbilled }) =>
        places - repeats - duplicates_after - dead - unbilled,
    ),
  ]);
  if (answer.rows[0]?.moved !== 1) throw new PositionMoved(counted.topic, counted.partition);
}
