import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson } from './testing/arbitrary-json.ts';
import { holdsUnencodable, jsonText, numberText } from './values.ts';

describe('numberText', () => {
  test.each([
    [1, '1'],
    [1.0, '1'],
    [-0, '0'],
    [12.5, '12.5'],
    [-3.25, '-3.25'],
    [1250000, '1250000'],
    [JSON.parse('9007199254740993') as number, '9007199254740992'],
    [1e21, '1000000000000000000000'],
    [-1.5e22, '-15000000000000000000000'],
    [1e-7, '0.0000001'],
    [-1.25e-9, '-0.00000000125'],
    [0.1 + 0.2, '0.30000000000000004'],
  ])('writes %d as %s', (value, text) => {
    expect(numberText(value)).toBe(text);
  });

  test('writes digits that parse to the same number, without exponent', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(numberText(value)).toMatch(/^-?\d+(\.\d+)?$/);
        expect(Number(numberText(value)) + 0).toBe(value + 0);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('holdsUnencodable', () => {
  test.each([
    ['1e999', true],
    ['-1e999', true],
    ['[1,{"a":[1e999]}]', true],
    ['{"a":{"b":-1e400}}', true],
    ['[1,"1e999",null,true,{"a":1e308}]', false],
    ['"x"', false],
    ['null', false],
  ])('returns for %s: %j', (json, expected) => {
    expect(holdsUnencodable(JSON.parse(json))).toBe(expected);
  });
});

describe('jsonText', () => {
  test('returns JSON cut to 8192 bytes between two characters', () => {
    expect(jsonText([1, { 'a b': 'ي', n: null }])).toBe('[1,{"a b":"ي","n":null}]');
    const cut = jsonText(['س'.repeat(9000)]);
    expect(Buffer.byteLength(cut)).toBe(8192);
    expect(cut.startsWith('["سس')).toBe(true);
  });

  test('does not overflow the stack for deep nesting', () => {
    const depth = 200_000;
    const array: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    const object: unknown = JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth));
    expect(holdsUnencodable(array)).toBe(false);
    expect(jsonText(array as object)).toBe('['.repeat(8192));
    expect(jsonText(object as object)).toBe('{"a":'.repeat(2000).slice(0, 8192));
  });

  test('returns the beginning of JSON.stringify for a deep value', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    fc.assert(
      fc.property(anyJson, (value) => {
        fc.pre(!holdsUnencodable(value));
        const whole = JSON.stringify([1, value, { k: value, 'q"': [] }]).slice(0, -1);
        expect(jsonText([1, value, { k: value, 'q"': [] }, deep]).startsWith(whole)).toBe(
          Buffer.byteLength(whole) < 8192,
        );
      }),
    );
  });
});
