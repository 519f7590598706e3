import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawBatchCodec, UnreadableRecord } from './codec.ts';
import { encodeRawBatch, rawValuesIn, recordsInBatch } from './raw-batch.ts';
import { writeZigzag } from './varint.ts';

const record = fc.record({
  items: fc.nat(500),
  value: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
});
const batch = fc.tuple(fc.array(record, { maxLength: 5 }), fc.nat(1000));

/** Bytes as hexadecimal text, which differs legibly. */
const legible = (records: readonly { items: number; value: Buffer }[]) =>
  records.map(({ items, value }) => [items, value.toString('hex')]);

describe('a batch of raw records', () => {
  it('is encoded and read as by its schema, and numbers the items of all records', () => {
    fc.assert(
      fc.property(batch, ([records, firstIndex]) => {
        const bytes = encodeRawBatch(records, firstIndex);
        expect(bytes.equals(rawBatchCodec.encode({ first_index: firstIndex, records }))).toBe(true);
        const read = recordsInBatch(bytes) ?? [];
        expect(legible(read)).toEqual(legible(records));
        let next = firstIndex;
        for (const { firstIndex: first, items } of read) {
          expect(first).toBe(next);
          next += items;
        }
      }),
    );
  });

  it('is read in blocks, of which a later one says its length', () => {
    const header = encodeRawBatch([]).subarray(0, 10);
    const one = Buffer.concat([writeZigzag(2), writeZigzag(1), Buffer.of(7)]);
    const bytes = Buffer.concat([
      ...[header, writeZigzag(3), writeZigzag(1), one],
      ...[writeZigzag(-1), writeZigzag(one.length), one, writeZigzag(0)],
    ]);
    expect(recordsInBatch(bytes)?.map(({ firstIndex, items }) => [firstIndex, items])).toEqual([
      [3, 2],
      [5, 2],
    ]);
  });

  it('is refused, or read as its schema says, when it is damaged', () => {
    const damage = fc.record({
      at: fc.nat(),
      byte: fc.nat(255),
      cut: fc.nat(),
      isCut: fc.boolean(),
    });
    const answer = <T>(read: () => T): T | string => {
      try {
        return read();
      } catch (error) {
        if (error instanceof UnreadableRecord) return error.code;
        throw error;
      }
    };
    fc.assert(
      fc.property(batch, damage, ([records, first], { at, byte, cut, isCut }) => {
        const whole = encodeRawBatch(records, first);
        const bytes = isCut
          ? whole.subarray(0, 10 + (cut % (whole.length - 9)))
          : Buffer.from(whole);
        if (!isCut) bytes[10 + (at % (bytes.length - 10))] = byte;
        const found = answer(() => legible(recordsInBatch(bytes) ?? []));
        // avsc reads as many records as a damaged number says, and negative counts.
        if (found === 'broken_datum') return;
        expect(found).toEqual(answer(() => legible(rawBatchCodec.decode(bytes).records)));
      }),
      { numRuns: 2000 },
    );
  });

  it('is refused when it has more items than positions can number', () => {
    const value = Buffer.of(1);
    const most = encodeRawBatch([{ items: 65_536, value }]);
    expect(recordsInBatch(most)?.map(({ items }) => items)).toEqual([65_536]);
    for (const batch of [
      encodeRawBatch([{ items: 65_537, value }]),
      encodeRawBatch([{ items: 2 ** 40, value }]),
      encodeRawBatch([{ items: 1, value }], 65_536),
      encodeRawBatch([
        { items: 65_536, value },
        { items: 1, value },
      ]),
      rawBatchCodec.encode({ first_index: -1, records: [{ items: 1, value }] }),
    ])
      expect(() => recordsInBatch(batch)).toThrow(UnreadableRecord);
  });

  it('leaves every other value as it is', () => {
    const value = Buffer.from('a raw record of its own');
    expect(rawValuesIn(value)).toEqual([value]);
    expect(recordsInBatch(Buffer.alloc(3))).toBeUndefined();
  });
});
