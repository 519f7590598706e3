import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { normaliseKey } from './keys.ts';

test.each([
  ['price', 'price'],
  ['Product.Name', 'Product_Name'],
  ['first name', 'first_name'],
  ['  first \t\n name ', 'first_name'],
  ['a-b', 'a_b'],
  ['a--b', 'a__b'],
  ['a - b', 'a___b'],
  ['a\u00a0\ufeffb', 'a_b'],
  ['__proto__', 'proto'],
  ['_a_', 'a'],
  ['a__b', 'a__b'],
  ['-.-', ''],
  ['', ''],
  [' ', ''],
  ['a\u0000\u0007b', 'ab'],
  ['a\u0085b', 'a_b'],
  ['\u0000', ''],
  ['نام كالا', 'نام_كالا'],
  ['ك\u064e', 'ك\u064e'],
  ['a\u200cb', 'a\u200cb'],
  ['a\ud800', 'a\ufffd'],
  ['k'.repeat(200), 'k'.repeat(128)],
  ['ن'.repeat(200), 'ن'.repeat(64)],
  [`${'k'.repeat(127)}_k`, 'k'.repeat(127)],
  [`${'-'.repeat(300)}k`, 'k'],
])('the key %j is stored as %j', (sent, stored) => {
  expect(normaliseKey(sent)).toBe(stored);
});

test('a stored key is stable, has at most 128 bytes and no outer underscore', () => {
  fc.assert(
    fc.property(anyText, fc.nat(4), (text, repeat) => {
      const key = normaliseKey(text.repeat(repeat));
      expect(normaliseKey(key)).toBe(key);
      expect(Buffer.byteLength(key)).toBeLessThanOrEqual(128);
      expect(key).not.toMatch(/^_|_$|[\s.-]|\p{Cc}/u);
      expect(key.isWellFormed()).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
