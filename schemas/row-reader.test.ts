import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AvroWriter } from './avro-writer.ts';
import { eventRowCodec, HEADER_BYTES, rowBatchCodec, UnreadableRecord } from './codec.ts';
import { DatumValues } from './datum-values.ts';
import type { EventRow } from './records.ts';
import { joinRowBatch, sliceRowBatch } from './row-batch.ts';
import type { RowValues } from './row-decoder.ts';
import { encodedRowReader, rowReader } from './row-reader.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS, rowVersion } from './row-versions.ts';
import { anyRow } from './testing/any-event-row.ts';
import { writeZigzag } from './varint.ts';

const ALL = rowVersion(NEWEST_ROW_VERSION).fields;
const NAMES = ALL.map(({ name }) => name as keyof EventRow);
const LONGS = ALL.filter(({ type }) => type === 'long' || type === 'int').map(({ name }) => name);
const MAPS = ['properties', 'property_numbers', 'traits', 'trait_numbers', 'profile'] as const;

/** As no service reads rows: all fields, to compare them with those of the codec. */
function copyOf(names: readonly (keyof EventRow)[]) {
  return (row: object): Partial<EventRow> =>
    Object.fromEntries(names.map((name) => [name, (row as EventRow)[name]]));
}

const readAll = rowReader({ fields: NAMES, row: copyOf(NAMES) });
const readKeys = rowReader({
  fields: [],
  keysOf: MAPS,
  row: (row: RowValues<never, (typeof MAPS)[number]>) => MAPS.map((name) => [...row[name]].sort()),
});

const SOME = {
  ids: ['_offset', 'user_id', '_trace'],
  maps: ['event', 'properties', 'trait_numbers'],
  first: ['_epoch'],
  last: ['_trace'],
  none: [],
} as const satisfies Record<string, readonly (keyof EventRow)[]>;
const SUBSETS: (readonly (keyof EventRow)[])[] = Object.values(SOME);
const subsetReaders = SUBSETS.map((names) => ({
  names,
  read: rowReader({ fields: names, row: copyOf(names) }),
}));

const HEAD = {
  ...{ epoch: 1, partition: 2, first_offset: 3, first_index: 0 },
  ...{ last_offset: 4, last_index: 1, appended_at: 5 },
};

function recordOf(datums: readonly Buffer[], version = NEWEST_ROW_VERSION): Buffer {
  return joinRowBatch({ version, head: HEAD, count: datums.length, rows: Buffer.concat(datums) });
}

/** What is made of the bytes: rows, or the code of the error. */
function resultOf<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableRecord) return error.code;
    throw error;
  }
}

/** avsc changes numbers from 2^52 on (and their sign), which only damaged bytes have. */
function comparable(rows: readonly Partial<EventRow>[] | string): unknown {
  if (typeof rows === 'string') return rows;
  const isInexact = (value: unknown) => Math.abs(Number(value)) >= 2 ** 52;
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        LONGS.includes(name) && isInexact(value) ? 'inexact' : value,
      ]),
    ),
  );
}

/** The codec refuses numbers from 2^53 on in the head, which readers of rows do not read. */
function hasInexactHead(value: Buffer): boolean {
  const batch = resultOf(() => sliceRowBatch(value));
  if (typeof batch !== 'object') return false;
  return Object.values<number>({ ...batch.head }).some((number) => Math.abs(number) >= 2 ** 52);
}

const anyBatch = fc.tuple(
  fc.array(anyRow, { minLength: 1, maxLength: 3 }),
  fc.constantFrom(...ROW_VERSIONS),
);

/** Damage as a disk or a defective writer does it. */
const damage = fc.oneof(
  fc
    .array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 })
    .map((changes) => (value: Buffer) => {
      const changed = Buffer.from(value);
      for (const [at, byte] of changes)
        changed[HEADER_BYTES + (at % (changed.length - HEADER_BYTES))] = byte;
      return changed;
    }),
  // The numbers of which lengths and counts are made.
  fc
    .tuple(fc.nat(), fc.constantFrom(1, 3, 0x7f, 0x80, 0x81, 0xff))
    .map(([at, byte]) => (value: Buffer) => {
      const changed = Buffer.from(value);
      changed[HEADER_BYTES + (at % (changed.length - HEADER_BYTES))] = byte;
      return changed;
    }),
  fc.nat().map((length) => (value: Buffer) => value.subarray(0, length % value.length)),
  fc
    .tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 12 }))
    .map(([at, more]) => (value: Buffer) => {
      const place = HEADER_BYTES + (at % (value.length - HEADER_BYTES));
      return Buffer.concat([value.subarray(0, place), more, value.subarray(place)]);
    }),
);

describe('reading rows', () => {
  it('gives what the codec gives, of every version and whatever was read before', () => {
    fc.assert(
      fc.property(anyBatch, ([rows, { version, type }]) => {
        const value = recordOf(
          rows.map((row) => type.toBuffer(row)),
          version,
        );
        const expected = rowBatchCodec.decode(value).rows;
        expect(readAll({ value })).toEqual(expected);
        for (const { names, read } of subsetReaders)
          expect(read({ value })).toEqual(expected.map(copyOf(names)));
        expect(readKeys({ value })).toEqual(
          expected.map((row) => MAPS.map((name) => Object.keys(row[name]).sort())),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('of damaged bytes gives what the codec gives, or UnreadableRecord', () => {
    let read = 0;
    fc.assert(
      fc.property(anyBatch, damage, ([rows, { version, type }], damaged) => {
        const value = damaged(
          recordOf(
            rows.map((row) => type.toBuffer(row)),
            version,
          ),
        );
        const found = resultOf(() => readAll({ value }));
        const parts = subsetReaders.map((one) => resultOf(() => one.read({ value })));
        const keys = resultOf(() => readKeys({ value }));
        // The codec reads as many entries as damaged bytes say: it is asked about other bytes only.
        if (found === 'broken_datum' || hasInexactHead(value)) return;
        expect(comparable(found)).toEqual(
          comparable(resultOf(() => rowBatchCodec.decode(value).rows as Partial<EventRow>[])),
        );
        if (typeof found === 'string') return;
        read++;
        for (const [at, { names }] of subsetReaders.entries())
          expect(parts[at]).toEqual(found.map(copyOf(names)));
        const expected = found.map((row) =>
          MAPS.map((name) => Object.keys(row[name] ?? {}).sort()),
        );
        expect(
          typeof keys === 'string'
            ? keys
            : keys.map((maps) => maps.map((all) => [...new Set(all)])),
        ).toEqual(expected);
      }),
      { numRuns: 3000 },
    );
    // Most damage falls into a text.
    expect(read).toBeGreaterThan(100);
  });

  it('refuses every record that was cut off, as the codec does', () => {
    for (const row of fc.sample(anyRow, { numRuns: 4, seed: 7 })) {
      const value = recordOf([eventRowCodec.type.toBuffer({ ...row, page_url: 'short' })]);
      const step = Math.ceil(value.length / 500);
      for (let length = HEADER_BYTES; length < value.length; length += step) {
        const cut = Buffer.from(value.subarray(0, length));
        expect(resultOf(() => readAll({ value: cut }))).toBe('broken_datum');
        for (const { read } of subsetReaders)
          expect(resultOf(() => read({ value: cut }))).toBe('broken_datum');
      }
    }
  });

  it('of several blocks gives what the codec gives, and never reads more than there is', () => {
    const [one, two] = fc
      .sample(anyRow, { numRuns: 2, seed: 5 })
      .map((row) => eventRowCodec.type.toBuffer(row)) as [Buffer, Buffer];
    const head = joinRowBatch({
      ...{ version: NEWEST_ROW_VERSION, head: HEAD, count: 0, rows: Buffer.alloc(0) },
    }).subarray(0, -1);
    const blocks = (count: number, end: Buffer) =>
      Buffer.concat([
        ...[head, writeZigzag(-1), writeZigzag(one.length), one, writeZigzag(count), two, end],
      ]);
    const value = blocks(1, Buffer.of(0));
    expect(readAll({ value })).toEqual(rowBatchCodec.decode(value).rows);
    const none = Buffer.concat([head, Buffer.of(0)]);
    expect(readAll({ value: none })).toEqual([]);
    const many = [2, 2 ** 31, 2 ** 50].map((count) => blocks(count, Buffer.alloc(200)));
    for (const value of [...many, blocks(1, Buffer.of(0, 0)), blocks(1, Buffer.of(2))])
      expect(resultOf(() => readAll({ value }))).toBe('broken_datum');
  });

  it('gives where each row lies', () => {
    const datums = fc
      .sample(anyRow, { numRuns: 3, seed: 3 })
      .map((row) => eventRowCodec.type.toBuffer(row));
    const read = encodedRowReader({ fields: ['_index'], row: ({ _index }) => ({ _index }) });
    const found = read(recordOf(datums));
    expect(
      found?.map(({ encoded: { bytes, from, to } }) => Buffer.from(bytes.subarray(from, to))),
    ).toEqual(datums);
  });
});

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const EMPTY_DATUM = eventRowCodec.type.toBuffer(EMPTY);

/** An otherwise empty row with these bytes as its properties. */
function rowWith(properties: Buffer): Buffer {
  const text = eventRowCodec.type.toBuffer({ ...EMPTY, properties: { a: '' } });
  const at = text.findIndex((byte, place) => byte !== EMPTY_DATUM[place]);
  return Buffer.concat([EMPTY_DATUM.subarray(0, at), properties, EMPTY_DATUM.subarray(at + 1)]);
}

const entry = (key: string, value: string) =>
  Buffer.concat(
    [key, value].flatMap((text) => [writeZigzag(Buffer.byteLength(text)), Buffer.from(text)]),
  );

describe('a map of a row', () => {
  const readMap = rowReader({ fields: ['properties'], row: ({ properties }) => properties });
  const readNames = rowReader({
    fields: [],
    keysOf: ['properties'],
    row: ({ properties }) => properties,
  });
  const skipMap = rowReader({ fields: ['_trace'], row: ({ _trace }) => _trace });
  const all = (properties: Buffer) => {
    const value = recordOf([rowWith(properties)]);
    return [readMap, readNames, skipMap].map((read) => resultOf(() => read({ value }) as unknown));
  };

  it('may have several blocks, with and without their length', () => {
    const [one, two] = [entry('a', '1'), entry('b', '2')];
    const properties = Buffer.concat([
      ...[writeZigzag(1), one, writeZigzag(-1), writeZigzag(two.length), two, Buffer.of(0)],
    ]);
    expect(all(properties)).toEqual([[{ a: '1', b: '2' }], [['a', 'b']], ['']]);
    // avsc skips by the length when it skips, and by the entries when it reads. Here it is a lie.
    const lie = Buffer.concat([writeZigzag(-1), writeZigzag(-9), one, Buffer.of(0)]);
    expect(all(lie)).toEqual([[{ a: '1' }], [['a']], ['']]);
    expect(rowBatchCodec.decode(recordOf([rowWith(lie)])).rows[0]?.properties).toEqual({ a: '1' });
  });

  it('has no key __proto__, as with the codec, and the last value of a key', () => {
    const properties = Buffer.concat([
      ...[writeZigzag(3), entry('__proto__', 'x'), entry('a', '1'), entry('a', '2'), Buffer.of(0)],
    ]);
    const [maps, keys] = all(properties) as [Record<string, string>[], string[][], unknown];
    expect(maps).toEqual([{ a: '2' }]);
    expect(Object.getPrototypeOf(maps[0])).toBe(Object.prototype);
    expect(keys).toEqual([['a', 'a']]);
  });

  it('with more entries than bytes is refused without reading them', () => {
    for (const count of [2 ** 31, -(2 ** 31), 2 ** 40, -(2 ** 52)])
      expect(all(Buffer.concat([writeZigzag(count), Buffer.alloc(1000)]))).toEqual([
        ...['broken_datum', 'broken_datum', 'broken_datum'],
      ]);
  });

  it('has texts of invalid UTF-8 as Buffer.toString gives them', () => {
    const bytes = Buffer.of(0xff, 0x41, 0xd8);
    const length = writeZigzag(bytes.length);
    const properties = Buffer.concat([writeZigzag(1), length, bytes, length, bytes, Buffer.of(0)]);
    const text = bytes.toString();
    expect(all(properties).slice(0, 2)).toEqual([[{ [text]: text }], [[text]]]);
  });
});

describe('numbers of a row', () => {
  const read = (value: number | Buffer) => {
    const datum = new DatumValues();
    datum.begin(typeof value === 'number' ? encoded(value) : value, 0);
    return datum.long();
  };

  const encoded = (value: number) => {
    const writer = new AvroWriter(16);
    writer.long(value);
    return Buffer.from(writer.bytes(0, writer.end));
  };

  it('are exact up to 2^53', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        if (Math.abs(value) <= 2 ** 53 - 2) expect(read(value)).toBe(value);
      }),
    );
    for (const value of [2 ** 53 - 2, 2 - 2 ** 53, 2 ** 31, -(2 ** 31), 2 ** 28, 2 ** 27 - 1])
      expect(read(value)).toBe(value);
  });

  it('beyond are refused, as those without an end', () => {
    for (const bytes of [
      Buffer.from('ffffffffffffffffff01', 'hex'),
      Buffer.from('ffffffffffffff7f', 'hex'),
      Buffer.alloc(40, 0x80),
      Buffer.alloc(3, 0x80),
    ])
      expect(() => read(bytes)).toThrow(RangeError);
  });
});
