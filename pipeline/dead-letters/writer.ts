import { deadLetterCodec } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { deadLetterKey } from './dead-letter.ts';

export const DEAD_LETTER_TOPIC = 'events.dead';

/** A record for the log, as platform/kafka/producer.ts takes it. */
export interface DeadLetterRecord {
  topic: string;
  partition: number;
  key: string;
  value: Buffer;
}

/**
 * Letters of one partition of the log lie in one partition of the topic, in the order of their
 * positions.
 */
export function deadLetterRecord(
  letter: DeadLetter,
  to: { topic: string; partitions: number },
): DeadLetterRecord {
  return {
    topic: to.topic,
    partition: letter.partition % to.partitions,
    key: deadLetterKey(letter),
    value: deadLetterCodec.encode(letter),
  };
}
