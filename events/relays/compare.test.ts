import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normaliseProperties } from '../properties.ts';
import { compileFilters, readNumber } from './compare.ts';
import { OPERATORS, type FilterValue, type Operator } from './filter.ts';

/** Whether an event that was sent with these properties passes one filter on `p`. */
function passes(properties: Record<string, unknown>, op: Operator, value?: FilterValue): boolean {
  return compileFilters([value === undefined ? { prop: 'p', op } : { prop: 'p', op, value }])(
    normaliseProperties(properties),
  );
}

describe('the operators of filters (ingest 4.9)', () => {
  test.each<[unknown, Operator, FilterValue | undefined, boolean]>([
    ['gold', 'eq', 'gold', true],
    ['gold', 'eq', 'Gold', false],
    ['طلايي', 'eq', 'طلايي', true],
    ['gold', 'ne', 'silver', true],
    ['gold', 'ne', 'gold', false],
    ['golden', 'contains', 'old', true],
    ['golden', 'contains', 'OLD', false],
    ['golden', 'prefix', 'gold', true],
    ['golden', 'prefix', 'old', false],
    [12, 'gt', 11, true],
    [12, 'gt', 12, false],
    [12, 'gte', 12, true],
    [12, 'lt', 13, true],
    [12, 'lt', 12, false],
    [12, 'lte', 12, true],
    ['', 'exists', undefined, true],
    ['', 'missing', undefined, false],
    [0, 'exists', undefined, true],
    // numbers as text, on either side
    [9, 'lt', '10', true],
    ['9', 'lt', 10, true],
    ['9', 'lt', '10', true],
    [10, 'eq', '10.0', true],
    ['1e3', 'eq', 1000, true],
    ['007', 'eq', '7', true],
    [' 12 ', 'eq', 12, true],
    ['۱۲', 'eq', 12, false],
    ['0x10', 'eq', 16, false],
    ['', 'eq', 0, false],
    // a number and another text cannot be ordered
    ['abc', 'gt', 100, false],
    ['abc', 'lte', 100, false],
    [100, 'gt', 'abc', false],
    ['abc', 'ne', 100, true],
    // texts are ordered by their units
    ['2026-11-21', 'gt', '2026-09-30', true],
    ['b', 'gte', 'b', true],
    ['a', 'gte', 'b', false],
    // booleans
    [true, 'eq', true, true],
    [true, 'eq', 'true', true],
    ['true', 'eq', true, true],
    [true, 'eq', 1, true],
    [true, 'eq', false, false],
    [false, 'lt', 1, true],
    [false, 'ne', 'false', false],
    // the text of a number and of a list
    [1_250_000, 'contains', '250', true],
    [1_250_000, 'prefix', 125, true],
    [['red', 'blue'], 'contains', '"blue"', true],
  ])('compare %j %s %j as %s', (sent, op, value, wanted) => {
    expect(passes({ p: sent }, op, value)).toBe(wanted);
  });

  test.each(OPERATORS)('hold for a missing property only with missing: %s', (op) => {
    const value = op === 'exists' || op === 'missing' ? undefined : 'x';
    for (const properties of [{}, { p: null }, { q: 'x' }])
      expect(passes(properties, op, value)).toBe(op === 'missing');
  });

  test('find no property under a name that objects inherit', () => {
    const inherited = compileFilters([{ prop: 'constructor', op: 'exists' }]);
    expect(inherited(normaliseProperties({}))).toBe(false);
    expect(inherited(normaliseProperties({ constructor: 1 }))).toBe(true);
  });

  test('must all hold for an event to match', () => {
    const both = compileFilters([
      { prop: 'total', op: 'gte', value: 100 },
      { prop: 'coupon', op: 'missing' },
    ]);
    expect(both(normaliseProperties({ total: 100 }))).toBe(true);
    expect(both(normaliseProperties({ total: 99 }))).toBe(false);
    expect(both(normaliseProperties({ total: 100, coupon: 'x' }))).toBe(false);
    expect(compileFilters([])(normaliseProperties({}))).toBe(true);
  });
});

describe('the operators as an algebra', () => {
  const scalar = fc.oneof(
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -3, max: 3 }),
    fc.boolean(),
    fc.integer().map(String),
  );

  test('hold for a property with exactly one of eq and ne, and for a missing one with neither', () => {
    fc.assert(
      fc.property(scalar, scalar, (sent, value) => {
        expect(passes({ p: sent }, 'eq', value)).toBe(!passes({ p: sent }, 'ne', value));
        expect(passes({}, 'eq', value) || passes({}, 'ne', value)).toBe(false);
      }),
    );
  });

  test('hold with gte for gt or equal, with lte for lt or equal, and with at most one of gt and lt', () => {
    fc.assert(
      fc.property(scalar, scalar, (sent, value) => {
        const of = (op: Operator) => passes({ p: sent }, op, value);
        if (of('gt')) expect(of('gte') && !of('lt') && !of('lte')).toBe(true);
        if (of('lt')) expect(of('lte') && !of('gt') && !of('gte')).toBe(true);
        if (of('gte') && of('lte')) expect(of('eq')).toBe(true);
      }),
    );
  });

  test('compare a number the same whichever side sends it as text', () => {
    const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(
        number,
        number,
        fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte'),
        (a, b, op) => {
          const wanted = passes({ p: a }, op, b);
          expect(passes({ p: String(a) }, op, b)).toBe(wanted);
          expect(passes({ p: a }, op, String(b))).toBe(wanted);
          expect(passes({ p: String(a) }, op, String(b))).toBe(wanted);
        },
      ),
    );
  });
});

test.each([
  ['1', 1],
  ['-1.50', -1.5],
  ['+.5', 0.5],
  ['5.', 5],
  ['1E3', 1000],
  ['', undefined],
  ['.', undefined],
  ['1,5', undefined],
  ['Infinity', undefined],
  ['1e999', undefined],
  ['1_000', undefined],
])('%j is read as a number, or as none', (text, number) => expect(readNumber(text)).toBe(number));
