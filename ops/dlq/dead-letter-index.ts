import { decodeDeadLetter } from './read-dead-letter.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { deadLetterKey } from '../../pipeline/dead-letters/dead-letter.ts';
import { DEAD_LETTER_TOPIC } from '../../pipeline/dead-letters/dead-letter.ts';
import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { OperatorContext } from '../operator-context.ts';

/** Name of the index among the readers of log_positions. */
const READER = 'dead-letters';
/** Letters in one statement. */
const CHUNK = 500;
/** Most that one command reads before it answers. */
const LIMITS = { records: 500_000, ms: 60_000 };

interface LocatedDeadLetter {
  deadLetter: DeadLetter;
  partition: number;
  offset: number;
}

/**
 * Brings the table dead_letters up to the end of events.dead. Doing it again, or twice at once,
 * changes nothing: a letter is one row, under its key. Answers false when there is more than one
 * command reads: then what is known so far is told, and the next one goes on.
 */
export async function indexDeadLetters(options: {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
}): Promise<boolean> {
  const { database, reader } = options;
  const ends = await withKafkaAdmin(options.operator.settings, (admin) =>
    topicEnds(admin, DEAD_LETTER_TOPIC),
  );
  const { rows } = await database.query<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM log_positions WHERE reader = $1 AND topic = $2',
    [READER, DEAD_LETTER_TOPIC],
  );
  const positions = new Map(rows.map((row) => [row.partition, Number(row.next_offset)]));
  let complete = true;
  for (const { partition, low, high } of ends) {
    const deadline = Date.now() + LIMITS.ms;
    for (let from = Math.max(low, positions.get(partition) ?? 0); from < high;) {
      const some: LocatedDeadLetter[] = [];
      const records = Math.min(CHUNK, LIMITS.records);
      const read = await reader.search(
        { topic: DEAD_LETTER_TOPIC, partition, from, to: high, limits: { records, ms: LIMITS.ms } },
        (record) => {
          const letter = decodeDeadLetter(record.value);
          if (letter) some.push({ deadLetter: letter, partition, offset: record.offset });
          return undefined;
        },
      );
      await write(database, { partition, next: read.next, some });
      from = read.next;
      if (Date.now() > deadline && from < high) {
        complete = false;
        break;
      }
    }
  }
  return complete;
}

const WRITE = `
WITH moved AS (
  INSERT INTO log_positions (reader, topic, partition, next_offset) VALUES ('${READER}', '${DEAD_LETTER_TOPIC}', $1, $2)
  ON CONFLICT (reader, topic, partition) DO UPDATE SET next_offset = greatest(log_positions.next_offset, excluded.next_offset), updated_at = now()
)
INSERT INTO dead_letters (letter, dead_partition, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, item, events, account_id, message_id, failed_at)
SELECT letter, $1, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, item, events, account_id, message_id, to_timestamp(failed_ms / 1000.0)
FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::bigint[], $11::int[], $12::int[], $13::bigint[], $14::text[], $15::float8[])
  AS found (letter, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, item, events, account_id, message_id, failed_ms)
ON CONFLICT (letter) DO NOTHING`;

async function write(
  database: Database,
  {
    partition,
    next,
    some,
  }: { partition: number; next: number; some: readonly LocatedDeadLetter[] },
): Promise<void> {
  // A letter that was written twice stands in the topic twice; one statement may name it once.
  const letters = [...new Map(some.map((one) => [deadLetterKey(one.deadLetter), one])).entries()];
  const column = <T>(of: (letter: DeadLetter) => T) =>
    letters.map(([, { deadLetter: letter }]) => of(letter));
  await database.query(WRITE, [
    partition,
    next,
    letters.map(([key]) => key),
    letters.map(([, { offset }]) => offset),
    column((letter) => letter.stage),
    column((letter) => letter.reason),
    column((letter) => letter.fingerprint),
    column((letter) => letter.topic),
    column((letter) => letter.partition),
    column((letter) => letter.offset),
    column((letter) => letter.index),
    column((letter) => letter.events),
    column((letter) => letter.account_id),
    // PostgreSQL text holds no NUL; the letter itself keeps it.
    column((letter) => letter.message_id.replaceAll('\0', '')),
    column((letter) => letter.failed_at),
  ]);
}
