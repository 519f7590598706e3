import { TOPIC } from '../../schemas/topology.ts';
import { indexKey } from '../../pipeline/dead-letters/dead-letter.ts';
import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import type { OperatorContext } from '../operator-context.ts';
import { decodeDeadLetter } from './read-dead-letter.ts';

/** Name of the index among the readers of log_positions. */
const READER = 'dead-letters';
/** Maximum time that one command reads a partition, ms. */
const MAX_READ_MS = 60_000;

interface LocatedDeadLetter {
  deadLetter: DeadLetter;
  offset: number;
}

/**
 * Updates the table dead_letters to the end of events.dead. Idempotent, also when it runs twice at
 * once: each dead letter is one row under its key. Resolves with false when the time limit ends it
 * early; the next command continues there.
 */
export async function indexDeadLetters({
  operator,
  database,
  reader,
  readMs = MAX_READ_MS,
}: {
  operator: OperatorContext;
  database: Database;
  reader: Pick<RangeReader, 'batches'>;
  /** Time limit of each partition, ms. */
  readMs?: number;
}): Promise<boolean> {
  const ends = await withKafkaAdmin(operator.settings, (admin) => topicEnds(admin, TOPIC.dead));
  const { rows } = await database.query<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM log_positions WHERE reader = $1 AND topic = $2',
    [READER, TOPIC.dead],
  );
  const positions = new Map(rows.map((row) => [row.partition, Number(row.next_offset)]));
  const epochOf = await failedEpochs(database);
  let complete = true;
  for (const { partition, low, high } of ends) {
    const from = Math.max(low, positions.get(partition) ?? 0);
    const deadline = Date.now() + readMs;
    const range = { topic: TOPIC.dead, partition, from, to: high };
    // One range for the whole partition; one statement for each of its batches.
    for await (const messages of reader.batches(range, new AbortController().signal)) {
      const found = messages.flatMap(({ value, offset }): LocatedDeadLetter[] => {
        const deadLetter = decodeDeadLetter(value);
        return deadLetter ? [{ deadLetter, offset }] : [];
      });
      const next = (messages.at(-1)?.offset ?? from) + 1;
      await write(database, { partition, next, found, epochOf });
      if (Date.now() > deadline && next < high) {
        complete = false;
        break;
      }
    }
  }
  return complete;
}

/** Epoch of the record that failed, as it was when the dead letter was written. */
type FailedEpoch = (partition: number, dead: LocatedDeadLetter) => number;

async function failedEpochs(database: Database): Promise<FailedEpoch> {
  const dead = await readEpochs(database, TOPIC.dead);
  const failed = new Map(
    await Promise.all(
      [TOPIC.raw, TOPIC.normalised].map(
        async (topic) => [topic as string, await readEpochs(database, topic)] as const,
      ),
    ),
  );
  return (at, { deadLetter: { topic, partition, offset }, offset: deadOffset }) =>
    epochAsOf(failed.get(topic)?.of(partition) ?? [], offset, dead.at(at, deadOffset));
}

// A dead letter that events.dead lost is written again at another offset.
const WRITE = `
WITH moved AS (
  INSERT INTO log_positions (reader, topic, partition, next_offset) VALUES ('${READER}', '${TOPIC.dead}', $1, $2)
  ON CONFLICT (reader, topic, partition) DO UPDATE SET next_offset = greatest(log_positions.next_offset, excluded.next_offset), updated_at = now()
)
INSERT INTO dead_letters (letter, dead_partition, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, item, events, account_id, message_id, failed_at, items)
SELECT letter, $1, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, item, events, account_id, message_id, to_timestamp(failed_ms / 1000.0), items::integer[]
FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::bigint[], $11::int[], $12::int[], $13::bigint[], $14::text[], $15::float8[], $16::text[])
  AS found (letter, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, item, events, account_id, message_id, failed_ms, items)
ON CONFLICT (letter) DO UPDATE SET dead_partition = excluded.dead_partition, dead_offset = excluded.dead_offset`;

/** Columns behind the key and the offset, in the order of the statement. */
const FIELDS = [
  'stage',
  'reason',
  'fingerprint',
  'topic',
  'partition',
  'offset',
  'index',
  'events',
  'account_id',
  'message_id',
  'failed_at',
] as const satisfies readonly (keyof DeadLetter)[];

async function write(
  database: Database,
  options: {
    partition: number;
    next: number;
    found: readonly LocatedDeadLetter[];
    epochOf: FailedEpoch;
  },
): Promise<void> {
  // The topic may hold a dead letter twice; one statement may insert its key only once.
  const byKey = new Map(
    options.found.map((one) => [
      indexKey(one.deadLetter, options.epochOf(options.partition, one)),
      one,
    ]),
  );
  const found = [...byKey.values()];
  await database.query(WRITE, [
    options.partition,
    options.next,
    [...byKey.keys()],
    found.map(({ offset }) => offset),
    ...FIELDS.map((field) =>
      found.map(({ deadLetter }) =>
        // PostgreSQL text cannot hold NUL; events.dead keeps it.
        field === 'message_id' ? deadLetter[field].replaceAll('\0', '') : deadLetter[field],
      ),
    ),
    found.map(({ deadLetter: { indexes } }) =>
      indexes.length > 1 ? `{${indexes.join(',')}}` : null,
    ),
  ]);
}
