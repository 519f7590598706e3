import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeBase32, encodeBase32 } from './base32.ts';

it('every sequence of bytes is read back, in either case', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const text = encodeBase32(Buffer.from(bytes));
      expect(text).toMatch(/^[0-9a-hjkmnp-tv-z]*$/);
      expect(decodeBase32(text)).toEqual(Buffer.from(bytes));
      expect(decodeBase32(text.toUpperCase())).toEqual(Buffer.from(bytes));
    }),
  );
});

it('a sequence of bytes has one spelling, apart from case', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), (text) => {
      const bytes = decodeBase32(text);
      if (bytes) expect(encodeBase32(bytes)).toBe(text.toLowerCase());
    }),
  );
  for (const text of ['i', 'l', 'o', 'u', '0', '000', '01', '00 ', 'é0'])
    expect(decodeBase32(text), text).toBeUndefined();
  expect(decodeBase32('00')).toEqual(Buffer.of(0));
});
