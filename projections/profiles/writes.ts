import { isProfileColumn, PROFILE_COLUMNS } from '../../events/traits.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';
import { decodeWriteOrder, encodeWriteOrder, type WriteOrder } from '../../events/write-order.ts';

/** The newest write of a trait or profile column; `number` when it was a number or boolean. */
export interface Write {
  text: string;
  number: number | undefined;
  order: WriteOrder;
}

/**
 * All writes of a profile in RowBinary, as a string of one character per byte: the columns of
 * `profiles` from the first profile column to `_stamps`. Most events change none of them, so they
 * stay encoded from row to row; this kind of string needs the least memory in V8.
 */
export type PackedWrites = string;

/** Columns of ClickHouse `profiles` that the packed writes fill, in their order (DDL 0003). */
export const WRITE_COLUMNS: readonly string[] = [
  ...PROFILE_COLUMNS,
  'traits',
  'trait_numbers',
  '_stamps',
];

const scratch = new RowBinaryWriter();

/** @param writes by key of the trait or profile column; the two never share a key */
export function packWrites(writes: ReadonlyMap<string, Write>): PackedWrites {
  const traits: [string, Write][] = [];
  const numbers: [string, number][] = [];
  for (const [key, write] of writes) {
    if (isProfileColumn(key)) continue;
    traits.push([key, write]);
    if (write.number !== undefined) numbers.push([key, write.number]);
  }
  for (const column of PROFILE_COLUMNS) scratch.string(writes.get(column)?.text ?? '');
  scratch.varint(traits.length);
  for (const [key, { text }] of traits) {
    scratch.string(key);
    scratch.string(text);
  }
  scratch.varint(numbers.length);
  for (const [key, number] of numbers) {
    scratch.string(key);
    scratch.float64(number);
  }
  scratch.varint(writes.size);
  for (const [key, { order }] of writes) {
    scratch.string(key);
    scratch.raw16((bytes, at) => encodeWriteOrder(bytes, at, order));
  }
  return scratch.finishLatin1();
}

/** Inverse of packWrites; the caller may change the map. */
export function unpackWrites(packed: PackedWrites): Map<string, Write> {
  if (packed === NO_WRITES) return new Map();
  const row = new RowBinaryReader(Buffer.from(packed, 'latin1'));
  const texts = new Map<string, string>();
  for (const column of PROFILE_COLUMNS) texts.set(column, row.string());
  for (let left = row.varint(); left > 0; left--) texts.set(row.string(), row.string());
  const numbers = new Map<string, number>();
  for (let left = row.varint(); left > 0; left--) numbers.set(row.string(), row.float64());
  const writes = new Map<string, Write>();
  for (let left = row.varint(); left > 0; left--) {
    const key = row.string();
    writes.set(key, {
      text: texts.get(key) ?? '',
      number: numbers.get(key),
      order: row.raw16(decodeWriteOrder),
    });
  }
  return writes;
}

/** Reads the packed writes of a row without decoding them. */
export function skipWrites(row: RowBinaryReader): PackedWrites {
  const from = row.position;
  if (row.isZero(NO_WRITES.length)) {
    row.skip(NO_WRITES.length);
    return NO_WRITES;
  }
  for (let left: number = PROFILE_COLUMNS.length; left > 0; left--) row.skip(row.varint());
  for (let left = 2 * row.varint(); left > 0; left--) row.skip(row.varint());
  for (const size of [NUMBER_BYTES, ORDER_BYTES]) {
    for (let left = row.varint(); left > 0; left--) row.skip(row.varint() + size);
  }
  return row.latin1(from, row.position);
}

const NUMBER_BYTES = 8;
const ORDER_BYTES = 16;

export const NO_WRITES: PackedWrites = packWrites(new Map());
