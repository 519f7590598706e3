import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromClaimTime, LAST_CLAIM_TIME, toClaimTime } from './claim-time.ts';
import { decodeEntry, encodeEntry } from './entry.ts';
import type { ClaimEntry } from './entry.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import { positionByteLength, readPosition, samePosition, writePosition } from './position-bytes.ts';

const whole = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat().map((value) => Math.min(value, Number.MAX_SAFE_INTEGER - 1)),
);
const position = fc.record({
  epoch: fc.nat(300),
  partition: fc.nat(4_000),
  offset: whole,
  index: fc.nat(500),
});
const expires = fc.integer({ min: 0, max: LAST_CLAIM_TIME }).map(fromClaimTime);
const token = fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes));

const entry: fc.Arbitrary<Exclude<ClaimEntry, { state: 'packed' }>> = fc.oneof(
  fc.record({ state: fc.constant('durable' as const), expires }),
  fc.record({ state: fc.constant('pending' as const), expires, token }),
  fc.record({
    state: fc.constant('resolved' as const),
    expires,
    position,
    acceptance: fc.nat(0xffffffff),
  }),
);

function bytesOf(of: LogPosition): Buffer {
  const bytes = Buffer.alloc(positionByteLength(of));
  expect(writePosition(of, bytes, 0)).toBe(bytes.length);
  return bytes;
}

describe('claim entries', () => {
  it('decode to the entry that was encoded', () => {
    fc.assert(
      fc.property(entry, (each) => {
        expect(decodeEntry(encodeEntry(each))).toEqual(each);
      }),
    );
  });

  it('of packed claims decode to the times between which they end', () => {
    const at = Date.UTC(2026, 10, 21);
    const answer = Buffer.alloc(10);
    answer.writeUIntBE(toClaimTime(at), 0, 5);
    answer.writeUIntBE(toClaimTime(at + 7), 5, 5);
    expect(decodeEntry(answer)).toEqual({ state: 'packed', since: at, expires: at + 7 });
  });

  it('take 16 bytes for a resolved claim of a typical event', () => {
    const resolved = {
      state: 'resolved',
      expires: Date.UTC(2026, 10, 21),
      position: { epoch: 0, partition: 3, offset: 90_000_000, index: 99 },
      acceptance: 1,
    } as const;
    expect(encodeEntry(resolved)).toHaveLength(16);
  });

  it('keep the millisecond of expiry, and clamp the time of a wrong clock', () => {
    fc.assert(
      fc.property(expires, (time) => {
        expect(fromClaimTime(toClaimTime(time))).toBe(time);
      }),
    );
    expect(toClaimTime(-1)).toBe(0);
    expect(toClaimTime(Number.MAX_SAFE_INTEGER)).toBe(LAST_CLAIM_TIME);
  });

  it('throw when a position is truncated', () => {
    fc.assert(
      fc.property(position, (of) => {
        const bytes = bytesOf(of);
        expect(() => readPosition(bytes.subarray(0, bytes.length - 1), 0)).toThrow(RangeError);
      }),
    );
  });
});

describe('encoded positions', () => {
  it('never begin with the byte of a pending claim', () => {
    fc.assert(
      fc.property(position, (of) => {
        expect(bytesOf(of)[0]).not.toBe(0);
      }),
    );
  });

  it('are equal exactly when the bytes of one are a prefix of the other', () => {
    const near = fc.record({
      epoch: fc.nat(1),
      partition: fc.nat(1),
      offset: fc.constantFrom(0, 1, 127, 128, 129, 16_384),
      index: fc.nat(2),
    });
    fc.assert(
      fc.property(near, near, (a, b) => {
        const prefix = bytesOf(b).subarray(0, positionByteLength(a)).equals(bytesOf(a));
        expect(prefix).toBe(samePosition(a, b));
      }),
    );
  });

  it('throw for a number that is not a safe non-negative integer', () => {
    for (const offset of [-1, 0.5, NaN, 2 ** 53]) {
      expect(() =>
        writePosition({ epoch: 0, partition: 0, offset, index: 0 }, Buffer.alloc(32), 0),
      ).toThrow(RangeError);
    }
  });
});
