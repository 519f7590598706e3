import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventRowCodec } from './codec.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS } from './row-versions.ts';
import type { EventRow } from './records.ts';
import { AvroWriter } from './avro-writer.ts';
import { RowEncoder } from './row-encoder.ts';
import { anyRow } from './testing/any-event-row.ts';

const empty = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;

describe('RowEncoder', () => {
  it.each(ROW_VERSIONS)(
    'writes version $version as the codec of the schema does, whatever was written before',
    ({ version, type }) => {
      fc.assert(
        fc.property(
          fc.array(anyRow, { minLength: 1, maxLength: 4 }),
          fc.array(fc.nat(3), { maxLength: 8 }),
          (rows, order) => {
            const writer = new AvroWriter(64);
            const encoder = new RowEncoder();
            for (const choice of order) {
              const row = { ...(rows[choice % rows.length] ?? empty), _index: choice };
              const from = writer.end;
              encoder.encode(row, writer, version);
              expect(writer.bytes(from, writer.end)).toEqual(type.toBuffer(row));
            }
          },
        ),
        { numRuns: 60 },
      );
    },
  );

  it('copies the context columns only while they are unchanged and still in the buffer', () => {
    const writer = new AvroWriter(64);
    const encoder = new RowEncoder();
    const first = { ...empty, session_id: 'one', city: 'تهران' };
    const steps = [first, { ...first, event: 'other' }, { ...first, city: 'شیراز' }, first, first];
    const encoded = steps.map((row, at) => {
      if (at === 4) writer.reset(64);
      const from = writer.end;
      encoder.encode(row, writer, NEWEST_ROW_VERSION);
      return eventRowCodec.type.fromBuffer(Buffer.from(writer.bytes(from, writer.end))) as EventRow;
    });
    expect(encoded.map(({ session_id, city, event }) => [session_id, city, event])).toEqual(
      steps.map(({ session_id, city, event }) => [session_id, city, event]),
    );
  });

  it('throws for numbers that an Avro long cannot represent exactly', () => {
    for (const timestamp of [Number.NaN, 0.5, 2 ** 53, Number.POSITIVE_INFINITY]) {
      const row = { ...empty, timestamp };
      const encode = () => new RowEncoder().encode(row, new AvroWriter(64), NEWEST_ROW_VERSION);
      expect(encode).toThrow(RangeError);
    }
  });
});
