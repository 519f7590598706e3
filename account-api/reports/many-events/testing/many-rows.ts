export interface ManyRow {
  /** UInt64. */
  person: bigint;
  /** Less than 2^52. */
  key: number;
}

/** As ClickHouse sends them: people and keys, of each value the lower half first. */
export function columnsOf(rows: readonly ManyRow[]): { people: Uint32Array; keys: Uint32Array } {
  const people = BigUint64Array.from(rows, ({ person }) => person);
  const keys = BigUint64Array.from(rows, ({ key }) => BigInt(key));
  return { people: new Uint32Array(people.buffer), keys: new Uint32Array(keys.buffer) };
}

/** A block of ClickHouse's Native format with these rows. */
export function nativeBlock(rows: readonly ManyRow[]): Buffer {
  const { people, keys } = columnsOf(rows);
  return Buffer.concat([
    Buffer.from([2]),
    varint(rows.length),
    ...[text('person'), text('UInt64'), Buffer.from(people.buffer)],
    ...[text('key'), text('UInt64'), Buffer.from(keys.buffer)],
  ]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function text(value: string): Buffer {
  return Buffer.concat([varint(value.length), Buffer.from(value)]);
}
