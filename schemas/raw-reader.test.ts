import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEADER_BYTES, rawRecordCodec, UnreadableRecord, writerOf } from './codec.ts';
import { RawReader, type RawCounts, type RawContents } from './raw-reader.ts';
import type { RawRecord } from './records.ts';
import { anyBytes, anyRawRecord } from './testing/any-raw-record.ts';
import { writeZigzag } from './varint.ts';

const encoders = [writerOf('raw-record', 1), writerOf('raw-record', 2)];

/** Damage as a disk or a defective writer does it. */
const damage = fc.oneof(
  { weight: 2, arbitrary: fc.constant((value: Buffer) => value) },
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => (value: Buffer) => {
    const changed = Buffer.from(value);
    changed[at % changed.length] = byte;
    return changed;
  }),
  fc.nat().map((length) => (value: Buffer) => value.subarray(0, length % value.length)),
  anyBytes.map((more) => (value: Buffer) => Buffer.concat([value, more])),
);

/** What a reader says of the bytes: the record, or the code of its error. */
function resultOf<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableRecord) return error.code;
    throw error;
  }
}

/** Without the bytes of clients, which the reader returns in rare cases. */
function textOf({ record, bytes, bodyStart, bodyEnd }: RawContents): string {
  const facts = Object.entries(record).filter(([name]) => name !== 'body' && name !== 'delivery');
  const body = bytes.toString('utf8', bodyStart, bodyEnd);
  return JSON.stringify([Object.fromEntries(facts), body]);
}

function byCodec(value: Buffer): string {
  const record = rawRecordCodec.decode(value);
  const { body: bytes } = record;
  return textOf({ record, bytes, bodyStart: 0, bodyEnd: bytes.length });
}

function countsByCodec(value: Buffer): RawCounts {
  const { account_id, received_at, source, origin, items, redriven_from } =
    rawRecordCodec.decode(value);
  return { account_id, received_at, source, origin, items: items.length, redriven_from };
}

/** One block of items as two, the second with its length in bytes before it. */
function inTwoBlocks(record: RawRecord): Buffer {
  const whole = rawRecordCodec.encode(record);
  const [first, ...rest] = record.items;
  if (!first || rest.length === 0) return whole;
  const [one, more, none] = [[first], rest, []].map((items) =>
    rawRecordCodec.encode({ ...record, items }),
  ) as [Buffer, Buffer, Buffer];
  let start = 0;
  while (whole[start] === none[start]) start++;
  const tail = none.length - start - 1;
  const itemsOf = (bytes: Buffer) => bytes.subarray(start + 1, bytes.length - tail - 1);
  return Buffer.concat([
    whole.subarray(0, start),
    ...[writeZigzag(1), itemsOf(one), writeZigzag(-rest.length)],
    ...[writeZigzag(itemsOf(more).length), itemsOf(more), Buffer.of(0), none.subarray(start + 1)],
  ]);
}

describe('RawReader', () => {
  const versions = fc.nat(1);

  it('reads every version as the codec does, whatever it read before', () => {
    const reader = new RawReader();
    fc.assert(
      fc.property(anyRawRecord, versions, (record, version) => {
        for (const value of [encoders[version]?.(record), inTwoBlocks(record)]) {
          if (!value) continue;
          const [found, counts] = [reader.read(value), reader.counts(value)];
          expect(textOf(found)).toBe(byCodec(value));
          expect(JSON.stringify(counts)).toBe(JSON.stringify(countsByCodec(value)));
        }
      }),
      { numRuns: 400 },
    );
  });

  it('refuses damaged bytes, or reads what the codec reads', () => {
    const reader = new RawReader();
    fc.assert(
      fc.property(anyRawRecord, versions, damage, (record, version, damaged) => {
        const value = damaged(encoders[version]?.(record) ?? Buffer.alloc(0));
        const found = resultOf(() => textOf(reader.read(value)));
        const counts = resultOf(() => reader.counts(value));
        // The codec reads as many items as damaged bytes say: it is asked about other bytes only.
        if (found === 'broken_datum') {
          expect(counts).toBe(found);
          return;
        }
        expect(found).toBe(resultOf(() => byCodec(value)));
        expect(JSON.stringify(counts)).toBe(JSON.stringify(resultOf(() => countsByCodec(value))));
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses every record that was cut off, as the codec does', () => {
    const reader = new RawReader();
    for (const record of fc.sample(anyRawRecord, 10)) {
      const value = rawRecordCodec.encode(record);
      for (let length = HEADER_BYTES; length < value.length; length++) {
        const cut = value.subarray(0, length);
        expect(resultOf(() => reader.read(cut))).toBe('broken_datum');
        expect(resultOf(() => reader.counts(cut))).toBe('broken_datum');
        expect(resultOf(() => rawRecordCodec.decode(cut))).toBe('broken_datum');
      }
    }
  });

  it('refuses more items than bytes without reading them', () => {
    const [record] = fc.sample(anyRawRecord, 1) as [RawRecord];
    const none = { items: [], redriven_from: null, delivery: null };
    const value = rawRecordCodec.encode({ ...record, ...none });
    const reader = new RawReader();
    // The items, and two unions that are null, are the last three bytes.
    const many = Buffer.concat([value.subarray(0, -3), writeZigzag(2 ** 40), Buffer.alloc(100)]);
    expect(resultOf(() => reader.read(many))).toBe('broken_datum');
    expect(resultOf(() => reader.counts(many))).toBe('broken_datum');
  });

  it('returns the same string for a text that the record before had', () => {
    const reader = new RawReader();
    const record = { ...fc.sample(anyRawRecord, 1)[0], user_agent: 'Mozilla/5.0 (سلام)' };
    const value = encoders[1]?.(record) ?? Buffer.alloc(0);
    const [first, second] = [reader.read(value), reader.read(Buffer.from(value))];
    expect(Object.is(first.record.user_agent, second.record.user_agent)).toBe(true);
    expect(second.record.user_agent).toBe('Mozilla/5.0 (سلام)');
  });
});
