import type { DecodeResult } from '../../events/raw/decode-record.ts';
import type { OutgoingRecord } from '../../platform/kafka/producer.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import { deadLetterRecord } from '../dead-letters/dead-letter.ts';
import type { Names } from './config.ts';
import type { NormalisedChunk } from './normalise-chunk.ts';
import { tracesOf } from './traces-of.ts';

interface Results {
  /** Of events.raw. */
  partition: number;
  /** Of which the chunk was made. */
  records: readonly DecodeResult[];
  names: Pick<Names, 'normalised' | 'verdicts' | 'dead'>;
  deadLetterPartitions: number;
}

/**
 * What is published of a chunk. Results of partition p go to partition p of the topics, dead
 * letters to partition p mod n.
 */
export function* recordsOf(
  { rowBatches, deadLetters, verdicts }: NormalisedChunk,
  { partition, records, names, deadLetterPartitions }: Results,
): Iterable<OutgoingRecord> {
  for (const rowBatch of rowBatches) {
    const { value } = rowBatch;
    const headers = tracesOf(rowBatch, records);
    yield { topic: names.normalised, partition, key: null, value, headers };
  }
  for (const deadLetter of deadLetters)
    yield deadLetterRecord(deadLetter, { topic: names.dead, partitions: deadLetterPartitions });
  if (verdicts.length === 0) return;
  const value = verdictRecordCodec.encode({ partition, verdicts: [...verdicts] });
  yield { topic: names.verdicts, partition, key: null, value };
}
