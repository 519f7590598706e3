import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFrames, isTornTail, type DecodedFrames } from './frame.ts';
import { decodePayload, encodeFrameHead } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

const plainRecord = { topic: 'events.raw', partition: 0, key: null, accountId: 1, events: 1 };
const MARKER = Buffer.from('a3f10288c0ffee7d', 'hex');

const records = fc.array(
  fc.record({
    topic: fc.constantFrom('events.raw', 'ingest.outcomes'),
    partition: fc.nat(9999),
    key: fc.option(fc.string({ unit: 'grapheme', maxLength: 8 })),
    accountId: fc.nat(),
    events: fc.nat(500),
    value: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  }),
  { minLength: 1, maxLength: 8 },
);

function written(all: readonly LogRecord[]): { bytes: Buffer; ends: number[] } {
  const frames = all.map((record) =>
    Buffer.concat([encodeFrameHead(record, MARKER), record.value]),
  );
  let end = 0;
  return { bytes: Buffer.concat(frames), ends: frames.map((frame) => (end += frame.length)) };
}

/** Decodes in chunks, as the reader of a file does. */
function decodeInChunks(bytes: Buffer, chunk: number): Pick<DecodedFrames, 'frames' | 'damage'> {
  const frames: DecodedFrames['frames'] = [];
  const damage: DecodedFrames['damage'] = [];
  let carried = Buffer.alloc(0);
  let offset = 0;
  for (let at = 0; at < bytes.length; at += chunk) {
    carried = Buffer.concat([carried, bytes.subarray(at, at + chunk)]);
    const decoded = decodeFrames({
      bytes: carried,
      marker: MARKER,
      isEnd: at + chunk >= bytes.length,
    });
    frames.push(
      ...decoded.frames.map((frame) => ({
        ...frame,
        start: frame.start + offset,
        end: frame.end + offset,
      })),
    );
    damage.push(
      ...decoded.damage.map(({ start, end }) => ({ start: start + offset, end: end + offset })),
    );
    carried = carried.subarray(decoded.consumed);
    offset += decoded.consumed;
  }
  return { frames, damage };
}

function plain(record: LogRecord | undefined): unknown {
  return (
    record && [
      record.topic,
      record.partition,
      record.key,
      record.accountId,
      record.events,
      record.value.toString('hex'),
    ]
  );
}

describe('frames', () => {
  it('decode to what was written, in chunks of any size, without damage', () => {
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 400 }), (all, chunk) => {
        const { frames, damage } = decodeInChunks(written(all).bytes, chunk);
        expect(damage).toEqual([]);
        expect(frames.map((frame) => plain(decodePayload(frame.payload)))).toEqual(all.map(plain));
      }),
    );
  });

  it('of a truncated segment are exactly those that end before the cut', () => {
    fc.assert(
      fc.property(records, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
        const { bytes, ends } = written(all);
        const cut = Math.floor(share * bytes.length);
        const { frames, damage } = decodeFrames({
          bytes: bytes.subarray(0, cut),
          marker: MARKER,
          isEnd: true,
        });
        const whole = ends.filter((end) => end <= cut).length;
        expect(frames.map((frame) => plain(decodePayload(frame.payload)))).toEqual(
          all.slice(0, whole).map(plain),
        );
        const tail = bytes.subarray(ends[whole - 1] ?? 0, cut);
        expect(damage.length).toBe(tail.length > 0 ? 1 : 0);
        expect(isTornTail(tail, MARKER)).toBe(true);
      }),
    );
  });

  it('with flipped bytes are exactly the undamaged ones, and the damage covers the others', () => {
    const flips = fc.array(
      fc.record({
        share: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        by: fc.integer({ min: 1, max: 255 }),
      }),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(records, flips, fc.integer({ min: 1, max: 400 }), (all, changes, chunk) => {
        const { bytes, ends } = written(all);
        const original = Buffer.from(bytes);
        for (const { share, by } of changes)
          bytes[Math.floor(share * bytes.length)] =
            (bytes[Math.floor(share * bytes.length)] ?? 0) ^ by;
        const isUndamaged = ends.map((end, at) =>
          bytes.subarray(ends[at - 1] ?? 0, end).equals(original.subarray(ends[at - 1] ?? 0, end)),
        );
        const { frames, damage } = decodeInChunks(bytes, chunk);
        expect(frames.map((frame) => plain(decodePayload(frame.payload)))).toEqual(
          all.filter((_, at) => isUndamaged[at]).map(plain),
        );
        const covered = [...frames, ...damage].sort((a, b) => a.start - b.start);
        expect(covered.reduce((end, range) => (range.start === end ? range.end : -1), 0)).toBe(
          bytes.length,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('with bytes missing in the middle are exactly the undamaged ones', () => {
    fc.assert(
      fc.property(records, fc.nat(1000), fc.integer({ min: 1, max: 90 }), (all, from, count) => {
        const { bytes, ends } = written(all);
        const start = from % bytes.length;
        const end = Math.min(bytes.length, start + count);
        const rest = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
        const kept = all.filter((_, at) => (ends[at] ?? 0) <= start || (ends[at - 1] ?? 0) >= end);
        const { frames } = decodeFrames({ bytes: rest, marker: MARKER, isEnd: true });
        const found = frames.map((frame) => JSON.stringify(plain(decodePayload(frame.payload))));
        const expected = kept.map((record) => JSON.stringify(plain(record)));
        const again = all.map((record) => JSON.stringify(plain(record)));
        // Cutting whole or equal bytes out can leave a frame that is byte for byte one of those
        // written; nothing else may appear.
        expect(found.filter((one) => !again.includes(one))).toEqual([]);
        expect(found.length).toBeGreaterThanOrEqual(expected.length);
      }),
    );
  });

  it('inside the body of a damaged frame are ignored when their marker differs', () => {
    const inner = encodeFrameHead(
      { ...plainRecord, value: Buffer.from('forged') },
      Buffer.from('0000000000000001', 'hex'),
    );
    const value = Buffer.concat([inner, Buffer.from('forged')]);
    const outer = Buffer.concat([encodeFrameHead({ ...plainRecord, value }, MARKER), value]);
    outer[8] = 255;
    expect(decodeFrames({ bytes: outer, marker: MARKER, isEnd: true }).frames).toEqual([]);
  });

  it('of arbitrary bytes never make the decoder throw', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant(MARKER), fc.uint8Array({ maxLength: 30 }))),
        fc.boolean(),
        (parts, isEnd) => {
          const decoded = decodeFrames({ bytes: Buffer.concat(parts), marker: MARKER, isEnd });
          for (const frame of decoded.frames) decodePayload(frame.payload);
        },
      ),
    );
  });

  it('with an arbitrary payload are a record or undefined', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        (bytes) => void decodePayload(Buffer.concat([Buffer.of(1), bytes])),
      ),
    );
  });
});

describe('a damaged end', () => {
  const whole = Buffer.concat([
    encodeFrameHead({ ...plainRecord, value: Buffer.from('abc') }, MARKER),
    Buffer.from('abc'),
  ]);
  it.each([
    ['space never written', Buffer.alloc(50), true],
    ['the beginning of a frame', whole.subarray(0, whole.length - 1), true],
    ['half a marker', MARKER.subarray(0, 3), true],
    [
      'a whole frame with a wrong check',
      Buffer.concat([whole.subarray(0, -1), Buffer.from('x')]),
      false,
    ],
    ['foreign bytes', Buffer.from('hello, world, this is text'), false],
  ])('is recognised as a torn tail or as damage: %s', (_, tail, expected) =>
    expect(isTornTail(tail, MARKER)).toBe(expected),
  );
});
