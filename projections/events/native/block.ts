import { rowVersion, type RowField } from '../../../schemas/row-versions.ts';
import { writeUnsigned } from '../../../schemas/varint.ts';
import {
  BoolColumn,
  FloatColumn,
  IgnoredColumn,
  IntegerColumn,
  StringColumn,
  type NativeColumn,
} from './columns.ts';
import { LowCardinalityColumn, MapColumn } from './dictionary-columns.ts';
import { columnType, isStored, type ColumnType } from './column-types.ts';
import { DatumReader } from './datum-reader.ts';

/** Rows in ClickHouse's Native format: one block. */
export interface NativeBlock {
  /** The columns that have another value than their default in some row; at least one. */
  columns: readonly string[];
  /** Its bytes. They are sent one after the other: a copy of all would be for nothing. */
  parts: readonly Buffer[];
}

/**
 * Turns encoded rows of one version into columns, which ClickHouse reads with a seventh of the
 * work that it has with Avro (docs/performance.md, "Inserts by column"). The same rows are the same
 * bytes. Throws RangeError unless the bytes are exactly `count` rows.
 */
export function nativeBlock({
  version,
  count,
  datums,
}: {
  version: number;
  count: number;
  datums: readonly Buffer[];
}): NativeBlock {
  const plan = planOf(version);
  const size = datums.reduce((sum, { length }) => sum + length, 0);
  // Each field takes a byte at least: memory is reserved for no more rows than there can be.
  if (count * plan.length > size) throw new RangeError(`${size} bytes are not ${count} rows`);
  const columns: (NativeColumn | undefined)[] = plan.map(() => undefined);
  let row = 0;
  for (const bytes of datums) {
    const datum = new DatumReader(bytes);
    for (; !datum.isAtEnd; row++) {
      if (row === count) throw new RangeError(`more than ${count} rows`);
      readRow(row, { datum, plan, columns, count });
    }
  }
  if (row !== count) throw new RangeError(`${row} rows instead of ${count}`);
  if (!columns.some((column) => column?.isUsed)) columns[0] = plan[0]?.create(count);
  const used = plan.flatMap(({ name, type }, at) => {
    const column = columns[at];
    if (!column || (!column.isUsed && at > 0)) return [];
    const { derived } = column;
    return [
      { name, type, data: column.finish() },
      ...(derived ? [{ name: derived.name, type: derived.type, data: derived.finish() }] : []),
    ];
  });
  const parts = used.flatMap(({ name, type, data }) => [text(name), text(type), ...data]);
  return {
    columns: used.map(({ name }) => name),
    parts: joinSmall([unsigned(used.length), unsigned(count), ...parts]),
  };
}

/** Adds the fields of the next row. The default of every type but a double is one byte, 0. */
function readRow(row: number, { datum, plan, columns, count }: Reading): void {
  const { bytes } = datum;
  for (let at = 0; at < plan.length; at++) {
    const field = plan[at];
    if (bytes[datum.at] === 0 && field?.isDouble === false) datum.at++;
    else (columns[at] ??= field?.create(count))?.add(row, datum);
  }
}

interface Reading {
  datum: DatumReader;
  plan: readonly PlannedColumn[];
  /** Those that have had a value. */
  columns: (NativeColumn | undefined)[];
  count: number;
}

interface PlannedColumn {
  name: string;
  type: ColumnType;
  isDouble: boolean;
  create: (rows: number) => NativeColumn;
}

const plans = new Map<number, readonly PlannedColumn[]>();

function planOf(version: number): readonly PlannedColumn[] {
  let plan = plans.get(version);
  if (!plan) {
    plan = rowVersion(version).fields.map((field) => ({
      name: field.name,
      type: columnType(field),
      isDouble: columnType(field) === 'Float64',
      create: (rows) => columnOf(field, rows),
    }));
    plans.set(version, plan);
  }
  return plan;
}

function columnOf(field: RowField, rows: number): NativeColumn {
  const type = columnType(field);
  switch (type) {
    case 'UInt16':
      return new IntegerColumn(rows, 2);
    case 'UInt32':
      return new IntegerColumn(rows, 4);
    case 'Int64':
    case 'UInt64':
    case "DateTime64(3, 'UTC')":
      return new IntegerColumn(rows, 8);
    case 'Bool':
      return new BoolColumn(rows);
    case 'Float64':
      return new FloatColumn(rows);
    case 'String':
      return new StringColumn(rows);
    case 'LowCardinality(String)':
      return new LowCardinalityColumn(rows);
    case 'Map(LowCardinality(String), String)':
    case 'Map(LowCardinality(String), Float64)': {
      const values = type.endsWith('Float64)') ? 'double' : 'string';
      if (!isStored(field.name)) return new IgnoredColumn(values);
      return new MapColumn(rows, values, field.name === 'properties');
    }
  }
}

/** Joins neighbours that are small: each part is a chunk of the request. */
function joinSmall(parts: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = [];
  let small: Buffer[] = [];
  const finish = () => {
    if (small.length > 0) joined.push(Buffer.concat(small));
    small = [];
  };
  for (const part of parts) {
    if (part.length < SMALL_BYTES) small.push(part);
    else {
      finish();
      joined.push(part);
    }
  }
  finish();
  return joined;
}

const SMALL_BYTES = 16 * 1024;

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([unsigned(bytes.length), bytes]);
}

function unsigned(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(10);
  return bytes.subarray(0, writeUnsigned(value, bytes, 0));
}
