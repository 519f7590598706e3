import { carriedFingerprint, HEADER_BYTES, UnreadableRecord } from './codec.ts';
import { afterLong } from './datum-skip.ts';
import type { RowBatchHead } from './records.ts';
import { rowVersion, rowVersionOf } from './row-versions.ts';
import { readZigzag, writeZigzag } from './varint.ts';

/**
 * A row batch whose rows are not decoded: `rows` holds `count` concatenated datums of one version
 * of event-row.
 */
export interface EncodedRowBatch {
  version: number;
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
 * Reads the head of a normalised-run and slices off its rows without decoding them. Returns
 * undefined for another schema, and when there are several blocks of rows: decode it instead.
 * Throws UnreadableRecord when the bytes are broken.
 */
export function sliceRowBatch(bytes: Buffer): EncodedRowBatch | undefined {
  const known = rowVersionOf(carriedFingerprint(bytes));
  if (!known) return undefined;
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
    return { version: known.version, head, count, rows: bytes.subarray(at, bytes.length - 1) };
  } catch (cause) {
    throw new UnreadableRecord('broken_datum', 'the head of the row batch cannot be read', {
      cause,
    });
  }
}

/** Where the blocks of rows begin. Throws RangeError at the end of the bytes. */
export function afterHead(bytes: Buffer): number {
  return HEAD_FIELDS.reduce((at) => afterLong(bytes, at), HEADER_BYTES);
}

/** Single-object encoding of a normalised-run: a head and at most one block of event-rows. */
export function joinRowBatch(batch: EncodedRowBatch): Buffer {
  const { header } = rowVersion(batch.version);
  const head = HEAD_FIELDS.map((field) => writeZigzag(batch.head[field]));
  if (batch.count === 0) return Buffer.concat([header, ...head, Buffer.of(0)]);
  return Buffer.concat([header, ...head, writeZigzag(batch.count), batch.rows, Buffer.of(0)]);
}
