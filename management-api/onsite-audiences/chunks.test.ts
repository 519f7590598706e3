import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf, layoutBits } from './chunks.ts';

function bytesOf(hashes: readonly bigint[]): Buffer {
  const bytes = Buffer.alloc(hashes.length * 8);
  [...hashes]
    .sort((a, b) => (a < b ? -1 : 1))
    .forEach((hash, at) => bytes.writeBigUInt64LE(hash, at * 8));
  return bytes;
}
const hashesOf = (bytes: Buffer) =>
  Array.from({ length: bytes.length / 8 }, (_, at) => bytes.readBigUInt64LE(at * 8));

const hashes = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.integer({ min: 0, max: 31 }).map((chunk) => BigInt(chunk) << 59n),
);

describe('the chunks of an audience', () => {
  it('have each name once, in the chunk whose bits its hash begins with', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(hashes, { maxLength: 300 }),
        fc.integer({ min: 0, max: 5 }),
        (members, bits) => {
          const bytes = bytesOf(members);
          const chunks = chunksOf(bytes, bits);
          expect(chunks.map(({ chunk }) => chunk)).toEqual([...Array(2 ** bits).keys()]);
          expect(Buffer.concat(chunks.map(({ names }) => names))).toEqual(bytes);
          for (const { chunk, names } of chunks)
            for (const hash of hashesOf(names))
              expect(hash >> BigInt(64 - bits)).toBe(BigInt(chunk));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('have the same digest as long as they have the same names', () => {
    const [first, second] = [bytesOf([1n, 2n ** 63n]), bytesOf([1n, 2n ** 63n + 1n])];
    const digests = [first, second].map((bytes) => chunksOf(bytes, 1).map((one) => one.digest));
    expect(digests[0]?.[0]).toBe(digests[1]?.[0]);
    expect(digests[0]?.[1]).not.toBe(digests[1]?.[1]);
  });
});

describe('the layout of an audience', () => {
  it.each([
    [0, 0],
    [16_384, 0],
    [16_385, 1],
    [1_000_000, 6],
    [5_000_000, 9],
    [1e12, 10],
  ])('of %i names has 2^%i chunks', (names, bits) => {
    expect(layoutBits(names, undefined)).toBe(bits);
  });

  it('stays while its chunks are neither small nor large', () => {
    expect(layoutBits(49_152, 0)).toBe(0);
    expect(layoutBits(49_153, 0)).toBe(2);
    expect(layoutBits(4096 * 8, 3)).toBe(3);
    expect(layoutBits(4096 * 8 - 1, 3)).toBe(1);
    expect(layoutBits(0, 0)).toBe(0);
    expect(layoutBits(0, 5)).toBe(0);
  });
});
