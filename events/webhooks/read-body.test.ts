import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteLongIntegers, readDelivery } from './read-body.ts';

/** By the parser's own report of what stood there. */
function keepingIds(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    return /^-?\d+$/.test(context?.source ?? '') ? context?.source : value;
  });
}

const digits = fc.stringMatching(/^-?[1-9][0-9]{12,22}$/);
const number = fc.oneof(
  digits,
  digits.map((text) => `${text}.5`),
  digits.map((text) => `0.${text.replace('-', '')}`),
  digits.map((text) => `${text}e2`),
  fc.constant('1E1234567890123456789'),
);
const string = fc
  .oneof(
    fc.string(),
    digits,
    digits.map((text) => `": ${text},"`),
    digits.map((text) => `\\", ${text} `),
    fc.constant('\\'),
  )
  .map((text) => JSON.stringify(text));
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    number,
    string,
    fc
      .array(tie('json') as fc.Arbitrary<string>, { maxLength: 3 })
      .map((items) => `[${items.join(', ')}]`),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(string, tie('json') as fc.Arbitrary<string>), { maxLength: 4 })
    .map((entries) => `{${entries.map(([key, value]) => `${key}:${value}`).join(' ,')}}`),
}));

describe('quoteLongIntegers', () => {
  it('keeps the digits of every integer that a float64 would change, and nothing else', () => {
    fc.assert(
      fc.property(json as fc.Arbitrary<string>, (text) => {
        expect(JSON.parse(quoteLongIntegers(text))).toEqual(keepingIds(text));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    '{"a":00012345678901234567890}',
    '{"a":x12345678901234567890}',
    '{"a":12345678901234567890',
    '{"a":"12345678901234567890}',
  ])('leaves %s unreadable', (text) =>
    expect(readDelivery(Buffer.from(text), { keepIds: true })).toBeUndefined(),
  );
});
