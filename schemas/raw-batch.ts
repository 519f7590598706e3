import { HEADER_BYTES, rawBatchCodec, singleObjectHeader, UnreadableRecord } from './codec.ts';
import type { Allocate } from './raw-record-encoder.ts';
import { readZigzag, unsignedLength, writeUnsigned } from './varint.ts';

/** A raw record to put into a raw batch. */
export interface RawBatchEntry {
  /** How many items it has. */
  items: number;
  value: Buffer;
}

/** A raw record of a raw batch. */
export interface RecordInBatch extends RawBatchEntry {
  /** Number of its first item among those of the batch. */
  firstIndex: number;
}

/** A record of a batch has two fields of at least a byte. */
const MIN_RECORD_BYTES = 2;
/** The index of a position has 16 bits (events/write-order.ts). */
const MAX_ITEMS = 2 ** 16;

const header = singleObjectHeader(rawBatchCodec.type);

/**
 * Encodes a raw batch, at less cost than the codec.
 * @param firstIndex number of the first item of the first record
 */
export function encodeRawBatch(records: readonly RawBatchEntry[], firstIndex = 0): Buffer {
  return writeRawBatch({ records, firstIndex, allocate: (bytes) => Buffer.allocUnsafe(bytes) });
}

/** The same, in memory that `allocate` answers. */
export function writeRawBatch({
  records,
  firstIndex,
  allocate,
}: {
  records: readonly RawBatchEntry[];
  firstIndex: number;
  allocate: Allocate;
}): Buffer {
  let length = HEADER_BYTES + longLength(firstIndex) + 1;
  if (records.length > 0) length += longLength(records.length);
  for (const { items, value } of records)
    length += longLength(items) + longLength(value.length) + value.length;
  const bytes = allocate(length);
  header.copy(bytes);
  let at = writeLong(firstIndex, bytes, HEADER_BYTES);
  if (records.length > 0) at = writeLong(records.length, bytes, at);
  for (const { items, value } of records) {
    at = writeLong(items, bytes, at);
    at = writeLong(value.length, bytes, at);
    at += value.copy(bytes, at);
  }
  bytes[at] = 0;
  return bytes;
}

/** Avro writes a number that is not negative as twice its value (Avro 1.12, "int and long"). */
function longLength(value: number): number {
  return unsignedLength(2 * value);
}

function writeLong(value: number, target: Buffer, at: number): number {
  return writeUnsigned(2 * value, target, at);
}

/** Bytes that a record takes in a batch beside its own. */
export const ENTRY_OVERHEAD = 10;

/**
 * The raw records of a raw batch, as views of its bytes; undefined when the bytes are none: a raw
 * record of its own, or what cannot be read. Throws UnreadableRecord for a damaged batch.
 */
export function recordsInBatch(bytes: Buffer): RecordInBatch[] | undefined {
  if (!isRawBatch(bytes)) return undefined;
  try {
    return readBatch(bytes);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new UnreadableRecord('broken_datum', `the bytes do not fit raw-batch: ${cause.message}`, {
      cause,
    });
  }
}

/** The value itself, or the values of a batch. Throws UnreadableRecord for a damaged batch. */
export function rawValuesIn(bytes: Buffer): readonly Buffer[] {
  return recordsInBatch(bytes)?.map(({ value }) => value) ?? [bytes];
}

/**
 * The raw record of a dead letter, which has one: its bytes, and the number of its first item.
 * Undefined for a damaged batch.
 */
export function rawRecordOf(bytes: Buffer): Omit<RecordInBatch, 'items'> | undefined {
  try {
    const batch = recordsInBatch(bytes);
    return batch ? batch[0] : { firstIndex: 0, value: bytes };
  } catch (error) {
    if (error instanceof UnreadableRecord) return undefined;
    throw error;
  }
}

function isRawBatch(bytes: Buffer): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  for (let at = 0; at < HEADER_BYTES; at++) if (bytes[at] !== header[at]) return false;
  return true;
}

function readBatch(bytes: Buffer): RecordInBatch[] {
  let at = HEADER_BYTES;
  const next = (): number => {
    const { value, end } = readZigzag(bytes, at);
    at = end;
    return value;
  };
  let firstIndex = next();
  const records: RecordInBatch[] = [];
  for (let count = next(); count !== 0; count = next()) {
    if (count < 0) {
      count = -count;
      // Bytes of the block.
      next();
    }
    if (count * MIN_RECORD_BYTES > bytes.length - at)
      throw new RangeError('they say that they have more records than bytes');
    for (let record = 0; record < count; record++) {
      const items = next();
      const length = next();
      if (length < 0 || items < 0 || length > bytes.length - at)
        throw new RangeError('they end too early');
      if (firstIndex < 0 || firstIndex + items > MAX_ITEMS)
        throw new RangeError('they say that they have more items than there are numbers');
      records.push({ firstIndex, items, value: bytes.subarray(at, at + length) });
      firstIndex += items;
      at += length;
    }
  }
  if (at !== bytes.length) throw new RangeError('they end too late');
  return records;
}
