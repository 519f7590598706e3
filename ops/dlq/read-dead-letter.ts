import { MAX_DEAD_LETTER_VALUE_BYTES } from '../../pipeline/dead-letters/dead-letter.ts';
import { DEAD_LETTER_TOPIC } from '../../pipeline/dead-letters/dead-letter.ts';
import { deadLetterCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';

const ONE_RECORD = { records: 1, ms: 10_000 };

/**
 * The letter itself, from events.dead; undefined when the topic does not keep it any more. Rejects
 * when no broker answers.
 */
export async function readDeadLetter(
  reader: RangeReader,
  known: Pick<DeadLetterRow, 'dead_partition' | 'dead_offset'>,
): Promise<DeadLetter | undefined> {
  const value = await readValue(reader, {
    topic: DEAD_LETTER_TOPIC,
    partition: known.dead_partition,
    offset: known.dead_offset,
  });
  return value === undefined ? undefined : deadLetterCodec.decode(value);
}

/**
 * The whole record that failed: of one that was too large for its letter, the bytes stand at its
 * position of the log. Undefined when they are gone.
 */
export async function failedBytes(
  reader: RangeReader,
  letter: DeadLetter,
): Promise<Buffer | undefined> {
  if (letter.value.length < MAX_DEAD_LETTER_VALUE_BYTES) return letter.value;
  return readValue(reader, letter);
}

async function readValue(
  reader: RangeReader,
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

/** undefined: not a dead letter; nothing else writes this topic, and a dead letter about it would recur. */
export function decodeDeadLetter(value: Buffer | null): DeadLetter | undefined {
  try {
    return value === null ? undefined : deadLetterCodec.decode(value);
  } catch (error) {
    if (error instanceof UnreadableRecord) return undefined;
    throw error;
  }
}
