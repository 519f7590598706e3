import fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isWord, propertyWord } from '../../../events/property-words.ts';
import type { EventRow } from '../../../schemas/records.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS, rowVersion } from '../../../schemas/row-versions.ts';
import { columnsOf } from '../insert-batch.ts';
import { readNative } from '../testing/read-native.ts';
import { rowAt } from '../testing/row-records.ts';
import { nativeBlock } from './block.ts';
import { columnType } from './column-types.ts';
import { Dictionary } from './dictionary.ts';
import { WordsColumn } from './words-column.ts';

const { fields, type } = rowVersion(NEWEST_ROW_VERSION);

/**
 * Few values, so that rows share them; long ones, and as many as an index of a byte lacks. Some are
 * words of exactly the greatest size, a byte longer, or no words.
 */
const texts = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('', '', 'a', 'b', 'خرید', 'x'.repeat(200)) },
  { weight: 3, arbitrary: fc.constantFrom('ش'.repeat(12), `${'ش'.repeat(12)}x`, 'a=b', 'n1') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
);
/** Of the encoder of the test. */
const MAX_NUMBER = 2 ** 52;
const UINT_MAX: Readonly<Record<string, number>> = { UInt16: 2 ** 16 - 1, UInt32: 2 ** 32 - 1 };
const numbers = (most: number, least = 0) =>
  fc.oneof(fc.constant(0), fc.integer({ min: least, max: most }));

function valuesOf(field: (typeof fields)[number]): fc.Arbitrary<unknown> {
  const of = columnType(field);
  switch (of) {
    case 'Bool':
      return fc.boolean();
    case 'Float64':
      return fc.oneof(fc.constant(0), fc.double({ noNaN: true }));
    case 'String':
    case 'LowCardinality(String)':
      return texts;
    case 'Map(LowCardinality(String), String)':
      return fc.oneof(fc.constant({}), fc.dictionary(texts, texts, { noNullPrototype: true }));
    case 'Map(LowCardinality(String), Float64)':
      return fc.dictionary(texts, fc.double({ noNaN: true }), { noNullPrototype: true });
    case "DateTime64(3, 'UTC')":
    case 'Int64':
      return numbers(MAX_NUMBER, -MAX_NUMBER);
    default: {
      // An `int` of Avro has 32 bits, with a sign.
      const most = field.type === 'int' ? 2 ** 31 - 1 : MAX_NUMBER;
      return numbers(Math.min(most, UINT_MAX[of] ?? most));
    }
  }
}

const rows = fc.array(
  fc
    .tuple(
      fc.constantFrom('full', 'usual'),
      fc.record(Object.fromEntries(fields.map((field) => [field.name, valuesOf(field)]))),
    )
    .map(([kind, row]) => (kind === 'full' ? row : { ...rowAt(3), event: row['event'] })),
  { minLength: 1, maxLength: 20 },
) as unknown as fc.Arbitrary<EventRow[]>;

const DEFAULTS: Readonly<Record<string, unknown>> = { Bool: false, Float64: 0 };
function defaultOf(name: string): unknown {
  const of = columnType(fields.find((field) => field.name === name) ?? { name, type: 'string' });
  if (of.startsWith('Map')) return {};
  return of.endsWith('String)') || of === 'String' ? '' : (DEFAULTS[of] ?? 0);
}

describe('a block of rows', () => {
  it('has the values of the rows, in their order, however they are divided into buffers', () => {
    fc.assert(
      fc.property(rows, fc.nat(), (some, cut) => {
        const datums = some.map((row) => type.toBuffer(row));
        const at = cut % (datums.length + 1);
        const divided = [Buffer.concat(datums.slice(0, at)), Buffer.concat(datums.slice(at))];
        const batch = { version: NEWEST_ROW_VERSION, count: some.length };
        const block = nativeBlock({ ...batch, datums: divided });
        const whole = nativeBlock({ ...batch, datums });
        expect(Buffer.concat(whole.parts)).toEqual(Buffer.concat(block.parts));
        expect(whole.columns).toEqual(block.columns);
        const read = readNative(Buffer.concat(block.parts));
        expect(read.rows).toBe(some.length);
        expect([...read.columns.keys()]).toEqual(block.columns);
        expect(read.columns.get('_property_words') ?? some.map(() => [])).toEqual(
          some.map(({ properties }) =>
            Object.entries(properties)
              .filter(([, value]) => isWord(value))
              .map(([name, value]) => propertyWord(name, value)),
          ),
        );
        for (const name of columnsOf(NEWEST_ROW_VERSION)) {
          const values = some.map((row) => row[name as keyof EventRow]);
          const stored = read.columns.get(name) ?? some.map(() => defaultOf(name));
          expect({ [name]: stored }).toEqual({ [name]: values });
        }
      }),
      { numRuns: 200 },
    );
  });

  it('of three hundred and of seventy thousand distinct values has wider numbers of them', () => {
    for (const count of [300, 70_000]) {
      const datums = Array.from({ length: count }, (_, n) =>
        type.toBuffer(rowAt(n, { event: `e${n}`, properties: { [`k${n}`]: 'v' } })),
      );
      const { columns } = readNative(
        Buffer.concat(nativeBlock({ version: NEWEST_ROW_VERSION, count, datums }).parts),
      );
      expect(columns.get('event')?.at(-1)).toBe(`e${count - 1}`);
      expect(columns.get('properties')?.at(-1)).toEqual({ [`k${count - 1}`]: 'v' });
    }
  });

  it('leaves out columns that are empty in all rows, but not all columns', () => {
    const [first] = ROW_VERSIONS;
    const count = 2;
    const datum = Buffer.alloc(rowVersion(1).type.toBuffer(rowAt(0, { event: '' })).length);
    const empty = rowVersion(1).type.toBuffer({
      ...rowAt(0, { event: '', message_id: '' }),
      _partition: 0,
    });
    expect(empty).toEqual(datum.subarray(0, empty.length));
    const block = nativeBlock({ version: first?.version ?? 0, count, datums: [empty, empty] });
    expect(block.columns).toEqual(['_epoch']);
    expect(readNative(Buffer.concat(block.parts))).toEqual({
      rows: 2,
      columns: new Map([['_epoch', [0, 0]]]),
    });
  });

  it('is refused unless the bytes are exactly the rows', () => {
    const datum = type.toBuffer(rowAt(300, { properties: { key: 'value' }, revenue: 2 }));
    const block = (count: number, datums: Buffer[]) =>
      nativeBlock({ version: NEWEST_ROW_VERSION, count, datums });
    expect(block(1, [datum]).columns).toContain('revenue');
    for (let size = 0; size < datum.length; size++)
      expect(() => block(1, [datum.subarray(0, size)])).toThrow(RangeError);
    expect(() => block(1, [datum, datum])).toThrow('more than 1 rows');
    expect(() => block(3, [datum, datum])).toThrow('2 rows instead of 3');
    expect(() => block(2 ** 40, [datum])).toThrow('bytes are not');
    const beyond = Buffer.from('feffffffffffffffff01', 'hex');
    expect(() => block(1, [Buffer.concat([datum.subarray(0, 2), beyond, datum])])).toThrow('2^53');
    const negative = Buffer.concat([datum.subarray(0, 8), Buffer.of(1), datum]);
    expect(() => block(1, [negative])).toThrow(RangeError);
  });

  it('reads maps that are written in several blocks, with or without their size', () => {
    const datum = type.toBuffer(rowAt(1, { properties: { a: '1', b: '2' } }));
    const written = Buffer.from([4, 2, 0x61, 2, 0x31, 2, 0x62, 2, 0x32, 0]);
    const at = datum.indexOf(written);
    const blocks = Buffer.from([2, 2, 0x61, 2, 0x31, 1, 8, 2, 0x62, 2, 0x32, 0]);
    const datums = [
      Buffer.concat([datum.subarray(0, at), blocks, datum.subarray(at + written.length)]),
    ];
    const bytes = Buffer.concat(
      nativeBlock({ version: NEWEST_ROW_VERSION, count: 1, datums }).parts,
    );
    expect(readNative(bytes).columns.get('properties')).toEqual([{ a: '1', b: '2' }]);
    expect(readNative(bytes).columns.get('_property_words')).toEqual([[]]);
  });
});

it('the types of the columns are those of the table', () => {
  const folder = join(import.meta.dirname, '../ddl');
  const ddl = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
  const declared = new Map(
    [
      ...ddl.matchAll(/^ {2}([a-z_]+) (?!.*MATERIALIZED)(\w.*?)(?: CODEC\(.*)?,?$/gm),
      ...ddl.matchAll(/^ALTER TABLE events ADD COLUMN IF NOT EXISTS (\w+) (.*?)(?: CODEC.*)?;$/gm),
    ].map(([, name, columnType]) => [name, columnType]),
  );
  const ours = fields.map((field) => [field.name, columnType(field)] as const);
  const inserted = ours.filter(([name]) => columnsOf(NEWEST_ROW_VERSION).includes(name));
  const words = new WordsColumn(0, new Dictionary());
  expect(new Map([...inserted, [words.name, words.type]])).toEqual(
    new Map([...declared].map(([name, one]) => [name, one?.replace(/ DEFAULT .*/, '')])),
  );
  // What is left out gets the default of its type; words that are left out follow from properties.
  const withDefault = [...declared].filter(([, one]) => one?.includes(' DEFAULT '));
  expect(withDefault.map(([name]) => name)).toEqual(['_property_words']);
});
