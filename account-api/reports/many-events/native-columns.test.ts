import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NativeColumns, NativeError } from './native-columns.ts';
import { nativeBlock, type ManyRow } from './testing/many-rows.ts';

function read(bytes: Buffer, size = bytes.length): ManyRow[] {
  const rows: ManyRow[] = [];
  const columns = new NativeColumns((people, keys) => {
    for (let at = 0; at < people.length / 2; at++)
      rows.push({
        person: BigInt(people[2 * at] ?? 0) + (BigInt(people[2 * at + 1] ?? 0) << 32n),
        key: (keys[2 * at] ?? 0) + (keys[2 * at + 1] ?? 0) * 2 ** 32,
      });
  });
  for (let at = 0; at < bytes.length; at += size) columns.read(bytes.subarray(at, at + size));
  columns.end();
  return rows;
}

const row = fc.record({
  person: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  key: fc.nat({ max: 2 ** 31 }).map((key) => key * 2 ** 20),
});

it('reads blocks of any length from pieces of any length', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(row, { maxLength: 200 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 300 }),
      (blocks, size) => {
        expect(read(Buffer.concat(blocks.map(nativeBlock)), size)).toEqual(blocks.flat());
      },
    ),
  );
});

it('a result that ends within a block is an error', () => {
  const block = nativeBlock([{ person: 1n, key: 1 }]);
  expect(read(block)).toHaveLength(1);
  for (let length = 1; length < block.length; length++)
    expect(() => read(block.subarray(0, length))).toThrow(NativeError);
});

it('what ClickHouse writes when it fails after the first rows is an error', () => {
  const block = nativeBlock([{ person: 1n, key: 1 }]);
  const text = Buffer.from('\r\n__exception__\r\nabcdef\r\nCode: 241. DB::Exception: memory');
  expect(() => read(Buffer.concat([block, text]))).toThrow(/no block, but .*__exception__/);
  expect(() => read(Buffer.concat([block, Buffer.from('Code: 159. Timeout')]))).toThrow(
    /Code: 159/,
  );
});

it.each([
  ['another type', Buffer.from('\x02\x01\x06person\x06UInt32')],
  ['a block of many rows', Buffer.from([2, 255, 255, 255, 255, 15])],
  ['a count without an end', Buffer.from([2, ...new Array<number>(40).fill(255)])],
  ['a name without an end', Buffer.from([2, 1, 255, 255, 3, ...new Array<number>(600).fill(65)])],
])('refuses %s', (_, bytes) => {
  expect(() => read(bytes)).toThrow(NativeError);
});
