import { describe, expect, it } from 'vitest';
import { isCheapToParse } from './parse-cost.ts';

const MIB = 1024 * 1024;
const at = (place: number) => () => place;
const isCheap = (text: string) =>
  [0, 0.5, 0.999].map((place) => isCheapToParse(Buffer.from(text), at(place)));

const event = (n: number) =>
  JSON.stringify({
    ...{ type: 'track', event: 'product_viewed', user_id: `person-${n}`, message_id: `m-${n}` },
    ...{ timestamp: '2026-09-20T10:00:00Z', properties: { price: 125, name: `کفش ${n}`, qty: 1 } },
  });

describe('the cost of parsing a body', () => {
  it('is low for events, also for a full batch', () => {
    for (const count of [1, 100, 500])
      expect(
        isCheap(`{"batch":[${Array.from({ length: count }, (_, n) => event(n)).join()}]}`),
      ).toEqual([true, true, true]);
  });

  it('is low for a megabyte of text', () => {
    expect(isCheap(`{"event":"${'x'.repeat(MIB)}"}`)).toEqual([true, true, true]);
  });

  it.each(['{},', '[', '0,', '"",', '[],', '{"a":', '{"k1a2b":0},', '"k1a2b":0,'])(
    'is high for a megabyte of %s',
    (unit) => {
      expect(isCheap(unit.repeat(MIB / unit.length))).toEqual([false, false, false]);
    },
  );

  it('is high for 64 KB of nothing but brackets', () => {
    expect(isCheap('['.repeat(65_536))).toEqual([false, false, false]);
  });

  it('is high when a quarter of a large body is dense', () => {
    const text = ['x'.repeat(3 * MIB), '{},'.repeat(MIB / 3)];
    for (const parts of [text, text.toReversed()])
      expect(isCheap(parts.join(''))).toEqual([false, false, false]);
  });
});
