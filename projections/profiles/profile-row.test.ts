import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { fold, groupByPerson } from './fold.ts';
import { packProfile, readProfile, unpackProfile, writeProfile } from './profile-row.ts';
import { RowBinaryReader, RowBinaryWriter } from './row-binary.ts';
import {
  compareWriteOrder,
  decodeWriteOrder,
  encodeWriteOrder,
  type WriteOrder,
} from '../../events/write-order.ts';

const writeOrder: fc.Arbitrary<WriteOrder> = fc.record({
  receivedAt: fc.maxSafeNat().map((n) => n % 2 ** 44),
  epoch: fc.integer({ min: 0, max: 255 }),
  partition: fc.integer({ min: 0, max: 65_535 }),
  offset: fc.maxSafeNat().map((n) => n % 2 ** 44),
  index: fc.integer({ min: 0, max: 65_535 }),
});
const bytesOf = (one: WriteOrder) => {
  const bytes = Buffer.alloc(16);
  encodeWriteOrder(bytes, 0, one);
  return bytes;
};
const asNumber = (bytes: Buffer) => bytes.readBigUInt64LE(0) + (bytes.readBigUInt64LE(8) << 64n);

describe('encoded write orders', () => {
  it('decode to what was encoded, and compare as numbers in the same order', () => {
    fc.assert(
      fc.property(writeOrder, writeOrder, (a, b) => {
        expect(decodeWriteOrder(bytesOf(a), 0)).toEqual(a);
        const [first, second] = [asNumber(bytesOf(a)), asNumber(bytesOf(b))];
        expect(Math.sign(compareWriteOrder(a, b))).toBe(
          first < second ? -1 : first > second ? 1 : 0,
        );
      }),
    );
  });

  it('reject a field that does not fit', () => {
    expect(() =>
      bytesOf({ receivedAt: 1, epoch: 0, partition: 0, offset: 2 ** 44, index: 0 }),
    ).toThrow(RangeError);
  });
});

describe('rows of profiles', () => {
  it('decode to what was encoded', () => {
    fc.assert(
      fc.property(arbitraryEvents({ maxLength: 30 }), (events) => {
        const profiles = fold(groupByPerson(events), []).changed;
        const writer = new RowBinaryWriter(16);
        for (const profile of profiles) writeProfile(writer, profile);
        const reader = new RowBinaryReader(writer.finish());
        expect(profiles.map(() => readProfile(reader))).toEqual(profiles);
        expect(reader.isAtEnd).toBe(true);
      }),
    );
  });

  it('are unpacked as they were packed', () => {
    fc.assert(
      fc.property(arbitraryEvents({ maxLength: 30 }), (events) => {
        for (const profile of fold(groupByPerson(events), []).changed)
          expect(unpackProfile(packProfile(profile))).toEqual(profile);
      }),
    );
  });

  it('hold integers, amounts and texts of any size', () => {
    fc.assert(
      fc.property(
        fc.maxSafeInteger(),
        fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n }),
        fc.string({ unit: 'grapheme', maxLength: 300 }),
        (whole, amount, text) => {
          const writer = new RowBinaryWriter(1);
          writer.int64(whole);
          writer.int128(amount);
          writer.string(text);
          const reader = new RowBinaryReader(writer.finish());
          expect([reader.int64(), reader.int128(), reader.string()]).toEqual([whole, amount, text]);
        },
      ),
    );
  });
});
