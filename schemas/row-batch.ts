import {
  carriedFingerprint,
  eventRowCodec,
  HEADER_BYTES,
  rowBatchCodec,
  singleObjectHeader,
  UnreadableRecord,
} from './codec.ts';
import type { RowBatchHead } from './records.ts';
import { readVarint, writeVarint } from './varint.ts';

/**
 * A run whose rows have not been decoded: `rows` are concatenated datums of event-row, `count` of
 * them.
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
 * Reads the head of a normalised-run.v1 and slices its rows without decoding them.
 * Answers undefined when the record has another version, or spreads its rows over several blocks:
 * decode it then. Throws UnreadableRecord when the bytes are broken.
 */
export function sliceRowBatch(bytes: Buffer): EncodedRowBatch | undefined {
  if (carriedFingerprint(bytes) !== rowBatchCodec.fingerprint) return undefined;
  try {
    const values: number[] = [];
    let at = HEADER_BYTES;
    for (let field = 0; field <= HEAD_FIELDS.length; field++) {
      const { value, end } = readVarint(bytes, at);
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
    throw new UnreadableRecord('broken_datum', 'the head of the run cannot be read', { cause });
  }
}

const header = singleObjectHeader(rowBatchCodec.type);

/**
 * Puts datums of event-row behind a head: the single-object encoding of a normalised-run with one
 * block of rows.
 */
export function joinRowBatch(run: { head: RowBatchHead; count: number; rows: Buffer }): Buffer {
  const head = HEAD_FIELDS.map((field) => writeVarint(run.head[field]));
  return Buffer.concat([header, ...head, writeVarint(run.count), run.rows, Buffer.of(0)]);
}

/**
 * Fingerprint of the rows in a run that `sliceRun` could slice: a batch for ClickHouse ends where
 * it changes.
 */
export const ROW_FINGERPRINT = eventRowCodec.fingerprint;
