import {
  carriedFingerprint,
  HEADER_BYTES,
  rowBatchCodec,
  singleObjectHeader,
  UnreadableRecord,
} from './codec.ts';
import type { RowBatchHead } from './records.ts';
import { readZigzag, writeZigzag } from './varint.ts';

/**
 * A row batch whose rows are not decoded: `rows` holds `count` concatenated datums of event-row.
 */
export interface EncodedRowBatch {
  head: RowBatchHead;
  count: number;
  rows: Buffer;
}

const HEAD_FIELDS = [
  'epoch',
  'partition',
  'first_offset',
  'first_index',
  'last_offset',
  'last_index',
  'appended_at',
] as const;

/**
 * Reads the head of a normalised-run.v1 and slices off its rows without decoding them. Returns
 * undefined when the record has another version or several blocks of rows: decode it instead.
 * Throws UnreadableRecord when the bytes are broken.
 */
export function sliceRowBatch(bytes: Buffer): EncodedRowBatch | undefined {
  if (carriedFingerprint(bytes) !== rowBatchCodec.fingerprint) return undefined;
  try {
    const values: number[] = [];
    let at = HEADER_BYTES;
    for (let field = 0; field <= HEAD_FIELDS.length; field++) {
      const { value, end } = readZigzag(bytes, at);
      values.push(value);
      at = end;
    }
    const [
      epoch = 0,
      partition = 0,
      first_offset = 0,
      first_index = 0,
      last_offset = 0,
      last_index = 0,
      appended_at = 0,
      count = 0,
    ] = values;
    if (count <= 0 || bytes.at(-1) !== 0) return undefined;
    const head = {
      epoch,
      partition,
      first_offset,
      first_index,
      last_offset,
      last_index,
      appended_at,
    };
    return { head, count, rows: bytes.subarray(at, bytes.length - 1) };
  } catch (cause) {
    throw new UnreadableRecord('broken_datum', 'the head of the row batch cannot be read', {
      cause,
    });
  }
}

const header = singleObjectHeader(rowBatchCodec.type);

/** Single-object encoding of a normalised-run: a head and one block of event-row datums. */
export function joinRowBatch(batch: EncodedRowBatch): Buffer {
  const head = HEAD_FIELDS.map((field) => writeZigzag(batch.head[field]));
  return Buffer.concat([header, ...head, writeZigzag(batch.count), batch.rows, Buffer.of(0)]);
}
