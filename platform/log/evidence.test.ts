import { describe, expect, it } from 'vitest';
import { contradictionOf, evidenceOf, recordToRead } from './evidence.ts';

const known = evidenceOf({ offset: 9, timestamp: 5, value: Buffer.from('a') });

describe('the evidence of a record', () => {
  it.each([
    ['a log that ends before it', { low: 0, high: 9 }, undefined, 'ahead'],
    ['another value', { low: 0, high: 12 }, { ...known, checksum: 1 }, 'other_record'],
    ['another append time', { low: 0, high: 12 }, { ...known, appendedAt: 6 }, 'other_record'],
    ['no record', { low: 0, high: 12 }, undefined, 'other_record'],
    ['the same record', { low: 0, high: 12 }, known, undefined],
    ['an unknown append time', { low: 0, high: 12 }, { ...known, appendedAt: -1 }, undefined],
    ['a record that retention removed', { low: 10, high: 12 }, undefined, undefined],
  ])('compared with %s', (_, ends, found, expected) => {
    expect(contradictionOf(known, ends, found)?.kind).toBe(expected);
  });

  it('is decided by the record before the position, if the log has it', () => {
    const at = (low: number, high: number) => recordToRead(known, { low, high });
    expect([at(0, 10), at(9, 10), at(10, 11), at(0, 9)]).toEqual([9, 9, undefined, undefined]);
  });

  it('covers both ends of a large value', () => {
    const value = Buffer.alloc(1_000_000);
    const checksum = (at: number) => {
      const other = Buffer.from(value);
      other[at] = 1;
      return evidenceOf({ offset: 0, value: other }).checksum;
    };
    const { checksum: plain } = evidenceOf({ offset: 0, value });
    expect([checksum(0), checksum(999_999)]).not.toContain(plain);
  });
});
