import { decodeRecord } from '../events/raw/decode-record.ts';
import { splitRecord } from '../events/raw/split-record.ts';
import { rawRecordCodec } from '../schemas/codec.ts';
import type { LogRecord } from './log-record.ts';

/**
 * A raw record that was split by another number of partitions, as records for the right ones. One
 * that cannot be decoded stays whole: the normaliser makes a dead letter of it.
 */
export function resplitRecord(raw: LogRecord, partitions: number): LogRecord[] {
  const { topic, partition, value } = raw;
  const decoded = decodeRecord({ topic, partition, offset: 0, timestamp: 0, key: null, value });
  if (decoded.state !== 'decoded' || decoded.record.items.length === 0)
    return [{ ...raw, partition: partition % partitions }];
  return splitRecord(decoded, { partitions }).map(({ partition, record }) => ({
    ...raw,
    partition,
    value: rawRecordCodec.encode(record),
    events: record.items.length,
  }));
}
