import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { parseNationalId } from './national-id.ts';

test.each([
  ['0013542419', '0013542419'],
  ['0499370899', '0499370899'],
  [' 0013542419 ', '0013542419'],
  ['001-354241-9', '001-354241-9'],
  ['001 354241 9', '001 354241 9'],
  ['13542419', '13542419'],
  ['013542419', '013542419'],
  ['499370899', '499370899'],
  ['۰۰۱۳۵۴۲۴۱۹', '0013542419'],
  ['٠٠١٣٥٤٢٤١٩', '0013542419'],
  ['۰۰۱–۳۵۴۲۴۱–۹', '001–354241–9'],
])('the national id %j is stored as %j', (sent, text) => {
  expect(parseNationalId(sent)).toBe(text);
});

test.each([
  '',
  '0013542418',
  '3542419',
  '00013542419',
  '1111111111',
  '0000000000',
  '00135A2419',
  'abc',
  '-',
  '0013542419/',
])('the invalid national id %j is dropped', (sent) => {
  expect(parseNationalId(sent)).toBeUndefined();
});

test('one of ten ids that differ in the last digit is valid', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{9}$/), (nine) => {
      fc.pre(!/^(\d)\1+$/.test(nine));
      const valid = Array.from({ length: 10 }, (_, digit) =>
        parseNationalId(`${nine}${digit}`),
      ).filter((text) => text !== undefined);
      expect(valid).toHaveLength(1);
    }),
  );
});

test('a stored national id parses to itself', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = parseNationalId(text);
      if (stored !== undefined) expect(parseNationalId(stored)).toBe(stored);
    }),
  );
});
