import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from './testing/arbitrary-json.ts';
import { parseIranianMobile } from './iran-phone.ts';

test.each([
  ['09121234567', '+989121234567', 'mci'],
  ['9121234567', '+989121234567', 'mci'],
  ['+989121234567', '+989121234567', 'mci'],
  ['00989121234567', '+989121234567', 'mci'],
  ['989121234567', '+989121234567', 'mci'],
  ['+98 (0) 912-123-4567', '+989121234567', 'mci'],
  ['۰۹۳۵۱۲۳۴۵۶۷', '+989351234567', 'irancell'],
  ['٠٩٣٥١٢٣٤٥٦٧', '+989351234567', 'irancell'],
  [' tel: +98 921 123 4567', '+989211234567', 'rightel'],
  ['09901234567', '+989901234567', 'mci'],
  ['09321234567', '+989321234567', 'taliya'],
  ['09981234567', '+989981234567', 'shatel'],
  ['9812345678', '+989812345678', 'other'],
  ['09991234567', '+989991234567', 'other'],
])('%j is the number %s of operator %s', (sent, e164, operator) => {
  expect(parseIranianMobile(sent)).toEqual({ e164, operator });
});

test.each([
  '',
  '0',
  '0912123456',
  '091212345678',
  '02188776655',
  '+12025550100',
  '+9121234567',
  '++989121234567x1',
  'abc',
  '8121234567',
  '00919121234567',
])('%j is not an Iranian mobile number', (sent) => {
  expect(parseIranianMobile(sent)).toBeUndefined();
});

test('parsing a parsed number again gives the same number', () => {
  fc.assert(
    fc.property(
      fc.oneof(anyText, fc.stringMatching(/^(\+98|0098|98|0)? ?9[0-9 -]{9,11}$/)),
      (text) => {
        const parsed = parseIranianMobile(text);
        if (parsed) expect(parseIranianMobile(parsed.e164)).toEqual(parsed);
      },
    ),
    { numRuns: 1000 },
  );
});
