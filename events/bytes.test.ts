import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { fitsBytes, truncateBytes, utf8Length, wellFormed } from './bytes.ts';

describe('truncateBytes', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'abc'],
    ['سلام', 8, 'سلام'],
    ['سلام', 7, 'سلا'],
    ['a€b', 3, 'a'],
    ['a€b', 4, 'a€'],
    ['😀😀', 7, '😀'],
    ['😀', 3, ''],
    ['a\ud800b', 4, 'a\ufffd'],
    ['\udc00', 3, '\ufffd'],
    ['', 0, ''],
  ])('cuts %j at %i bytes to %j', (text, bound, expected) => {
    expect(truncateBytes(text, bound)).toBe(expected);
  });

  test('returns the longest well-formed prefix within the bound', () => {
    fc.assert(
      fc.property(anyText, fc.nat(80), (text, bound) => {
        const cut = truncateBytes(text, bound);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bound);
        expect(cut.isWellFormed()).toBe(true);
        expect(wellFormed(text).startsWith(cut)).toBe(true);
        const next = wellFormed(text).codePointAt(cut.length);
        if (next !== undefined)
          expect(Buffer.byteLength(cut + String.fromCodePoint(next))).toBeGreaterThan(bound);
        expect(truncateBytes(cut, bound)).toBe(cut);
      }),
    );
  });
});

test('fitsBytes agrees with the length in UTF-8', () => {
  fc.assert(
    fc.property(anyText, fc.nat(120), (text, bound) => {
      expect(fitsBytes(text, bound)).toBe(Buffer.from(text).length <= bound);
      expect(utf8Length(text)).toBe(Buffer.from(text).length);
    }),
  );
});
