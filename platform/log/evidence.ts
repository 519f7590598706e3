import { crc32 } from 'node:zlib';

/**
 * What a reader knows about the record before `next`: enough to notice that the log holds another
 * one there. It is stored before the effects of the record, outside Kafka.
 */
export interface RecordEvidence {
  next: number;
  /** Log append time, ms since the epoch; -1: unknown. */
  appendedAt: number;
  /** CRC-32 of the first and the last bytes of the value. */
  checksum: number;
}

/** Bytes of each end of a value that its checksum covers: a whole one of 1 MB costs 0.2 ms. */
const CHECKED_BYTES = 16 * 1024;

function checksumOf(value: Buffer): number {
  if (value.length <= 2 * CHECKED_BYTES) return crc32(value);
  return crc32(value.subarray(-CHECKED_BYTES), crc32(value.subarray(0, CHECKED_BYTES)));
}

export function evidenceOf(record: {
  offset: number;
  timestamp?: number | undefined;
  value: Buffer | null;
}): RecordEvidence {
  return {
    next: record.offset + 1,
    appendedAt: record.timestamp ?? -1,
    checksum: checksumOf(record.value ?? Buffer.alloc(0)),
  };
}

/** First retained offset, and the offset of the next record. */
export interface LogEnds {
  low: number;
  high: number;
}

/** Why the log is not the one that was read before. */
export type Contradiction =
  { kind: 'ahead'; position: number; end: number } | { kind: 'other_record'; position: number };

/** The offset of the record that decides about the evidence; undefined: the ends decide. */
export function recordToRead(evidence: RecordEvidence, { low, high }: LogEnds): number | undefined {
  return evidence.next <= high && evidence.next > low ? evidence.next - 1 : undefined;
}

/**
 * Compares the evidence with the log. `found` is the record at `recordToRead`, undefined when the
 * log holds none there. A record that retention removed contradicts nothing.
 */
export function contradictionOf(
  evidence: RecordEvidence,
  ends: LogEnds,
  found: RecordEvidence | undefined,
): Contradiction | undefined {
  const { next: position } = evidence;
  if (position > ends.high) return { kind: 'ahead', position, end: ends.high };
  if (recordToRead(evidence, ends) === undefined) return undefined;
  const isSame =
    found?.next === position &&
    found.checksum === evidence.checksum &&
    (evidence.appendedAt < 0 || found.appendedAt < 0 || found.appendedAt === evidence.appendedAt);
  return isSame ? undefined : { kind: 'other_record', position };
}
