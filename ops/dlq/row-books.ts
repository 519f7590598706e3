import { eventRowCodec } from '../../schemas/codec.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import type { Database } from '../../platform/postgres/pool.ts';

const MINUTE = 60_000;

/**
 * Says that the rows of a letter of the sink are stored, and takes them off the dead of the books
 * in the same statement, so that a crash does both or neither. The meter of accepted events left
 * them out while they were dead and takes them in now. Answers false when another attempt has the
 * letter.
 * @param month name of the Jalali month of an instant (ingest 8)
 */
export async function rowsStored(
  database: Database,
  options: {
    letter: string;
    attempt: string;
    counted: boolean;
    rows: readonly EncodedRow[];
    month: (at: number) => string;
  },
): Promise<boolean> {
  const { letter, attempt, counted } = options;
  const rows = counted
    ? options.rows.map(
        ({ datum }) =>
          eventRowCodec.type.fromBuffer(datum) as { account_id: number; received_at: number },
      )
    : [];
  const answer = await database.query<{ done: number }>(
    `WITH done AS (
       UPDATE dead_letters SET state = 'redriven', redriven_to = NULL, changed_at = now() WHERE letter = $1 AND state = 'redriving' AND attempt = $2 RETURNING 1
     ), revived AS (
       SELECT account_id, minute, month, count(*) AS events FROM unnest($3::bigint[], $4::timestamptz[], $5::text[]) AS r (account_id, minute, month)
       WHERE EXISTS (SELECT 1 FROM done) GROUP BY account_id, minute, month
     ), booked AS (
       INSERT INTO books (account_id, minute, dead) SELECT account_id, minute, -events FROM revived
       ON CONFLICT (account_id, minute) DO UPDATE SET dead = books.dead + excluded.dead, open = true, changed_at = now()
     ), metered AS (
       INSERT INTO meters (account_id, meter, month, value) SELECT account_id, 'events', month, sum(events) FROM revived GROUP BY account_id, month
       ON CONFLICT (account_id, meter, month) DO UPDATE SET value = meters.value + excluded.value, updated_at = now()
     )
     SELECT count(*)::int AS done FROM done`,
    [
      letter,
      attempt,
      rows.map((row) => row.account_id),
      rows.map((row) => new Date(Math.floor(row.received_at / MINUTE) * MINUTE)),
      rows.map((row) => options.month(row.received_at)),
    ],
  );
  return answer.rows[0]?.done === 1;
}
