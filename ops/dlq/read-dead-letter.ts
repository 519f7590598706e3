import { TOPIC } from '../../schemas/topology.ts';
import {
  deadLetterKey,
  keyOfIndexKey,
  MAX_DEAD_LETTER_VALUE_BYTES,
} from '../../pipeline/dead-letters/dead-letter.ts';
import { deadLetterCodec, decodeIfReadable } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';
import type { RecordCursor } from './record-cursor.ts';

type KnownPosition = Pick<DeadLetterRow, 'key' | 'dead_partition' | 'dead_offset'>;

const ONE_RECORD = { records: 1, ms: 10_000 };

/** Reads a dead letter from events.dead; undefined: no longer there. */
export async function readDeadLetter(
  reader: Pick<RangeReader, 'search'>,
  known: KnownPosition,
): Promise<DeadLetter | undefined> {
  const value = await readValue(reader, {
    topic: TOPIC.dead,
    partition: known.dead_partition,
    offset: known.dead_offset,
  });
  return value && deadLetterIn(value, known);
}

/** The same for many: one range for all that follow each other, not a seek each. */
export async function nextDeadLetter(
  cursor: RecordCursor,
  known: KnownPosition,
): Promise<DeadLetter | undefined> {
  const { dead_partition: partition, dead_offset: offset } = known;
  const record = await cursor.read({ topic: TOPIC.dead, partition, offset });
  return record?.value ? deadLetterIn(record.value, known) : undefined;
}

/** undefined: after the log went back another record has its offset. */
function deadLetterIn(value: Buffer, { key }: KnownPosition): DeadLetter | undefined {
  const found = deadLetterCodec.decode(value);
  return deadLetterKey(found) === keyOfIndexKey(key) ? found : undefined;
}

/**
 * The complete bytes of the failed record. A dead letter holds only the beginning of a very large
 * record: the rest is read at its position; undefined: no longer retained.
 */
export async function failedBytes(
  reader: Pick<RangeReader, 'search'>,
  deadLetter: DeadLetter,
): Promise<Buffer | undefined> {
  if (deadLetter.value.length < MAX_DEAD_LETTER_VALUE_BYTES) return deadLetter.value;
  return readValue(reader, deadLetter);
}

async function readValue(
  reader: Pick<RangeReader, 'search'>,
  { topic, partition, offset }: { topic: string; partition: number; offset: number },
): Promise<Buffer | undefined> {
  let value: Buffer | undefined;
  await reader.search(
    { topic, partition, from: offset, to: offset + 1, limits: ONE_RECORD },
    (record) => {
      if (record.offset === offset && record.value !== null) value = record.value;
      return 'found';
    },
  );
  return value;
}

/**
 * undefined: not a dead letter; nothing else writes this topic, and a dead letter about it would
 * recur.
 */
export function decodeDeadLetter(value: Buffer | null): DeadLetter | undefined {
  return decodeIfReadable(deadLetterCodec, value);
}
