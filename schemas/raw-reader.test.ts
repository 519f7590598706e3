import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawRecordCodec, UnreadableRecord, writerOf } from './codec.ts';
import { RawReader, type RawText } from './raw-reader.ts';
import type { RawRecord } from './records.ts';

const text = fc.oneof(
  fc.constantFrom('', 'sdk', 'track', 'batch', 'سلام دنیا', 'x'.repeat(256), 'x'.repeat(300)),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
/** avsc loses the lowest bit above. */
const long = fc.oneof(
  fc.constantFrom(0, 1, -1, 63, 64, -64, -65, 1_790_000_000_000, 2 ** 47, 2 ** 48, 2 ** 51),
  fc.integer({ min: -(2 ** 51), max: 2 ** 51 }),
);
const bytes = fc.uint8Array({ maxLength: 30 }).map((array) => Buffer.from(array));

const anyRecord = fc.record({
  ...{ account_id: long, app_id: long, write_key_id: long, received_at: long },
  ...{ source: text, path: text, ip: text, user_agent: text, origin: text },
  ...{ trace: text, gateway: text, sequence: long, shape: text, body: bytes },
  items: fc.array(
    fc.record({
      ...{ at: fc.integer(), index: fc.integer(), type: text, message_id: text },
      ...{ generated: fc.boolean(), dedupe_id: fc.option(text), timestamp: long },
    }),
    { maxLength: 4 },
  ),
  redriven_from: fc.option(
    fc.record({
      ...{ epoch: fc.integer(), partition: fc.integer(), offset: long, index: fc.integer() },
    }),
  ),
  delivery: fc.option(fc.record({ source: text, topic: text, body: bytes })),
}) as unknown as fc.Arbitrary<RawRecord>;

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
  bytes.map((more) => (value: Buffer) => Buffer.concat([value, more])),
);

/** Fields that are no facts. */
const BYTES: ReadonlySet<string> = new Set(['body', 'delivery']);

/** What a reader says of the bytes: the record, or the code of its error. */
function resultOf(read: () => RawText): unknown {
  try {
    const { record, body } = read();
    const facts = Object.entries(record).filter(([name]) => !BYTES.has(name));
    return { facts, body };
  } catch (error) {
    if (error instanceof UnreadableRecord) return error.code;
    throw error;
  }
}

function byCodec(value: Buffer): RawText {
  const record = rawRecordCodec.decode(value);
  return { record, body: record.body.toString() };
}

describe('RawReader', () => {
  it('reads every version as the codec does, broken bytes too, whatever it read before', () => {
    const reader = new RawReader();
    fc.assert(
      fc.property(anyRecord, fc.nat(1), damage, (record, version, damaged) => {
        const value = damaged(encoders[version]?.(record) ?? Buffer.alloc(0));
        const found = JSON.stringify(resultOf(() => reader.read(value)));
        expect(found).toEqual(JSON.stringify(resultOf(() => byCodec(value))));
      }),
      { numRuns: 400 },
    );
  });

  it('returns the same string for a text that the record before had', () => {
    const reader = new RawReader();
    const record = { ...fc.sample(anyRecord, 1)[0], user_agent: 'Mozilla/5.0 (سلام)' };
    const value = encoders[1]?.(record) ?? Buffer.alloc(0);
    const [first, second] = [reader.read(value), reader.read(Buffer.from(value))];
    expect(Object.is(first.record.user_agent, second.record.user_agent)).toBe(true);
    expect(second.record.user_agent).toBe('Mozilla/5.0 (سلام)');
  });
});
