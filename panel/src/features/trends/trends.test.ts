import { describe, expect, it } from 'vitest';
import { dayOfText } from '../../shared/format/dates.ts';
import { applyFormula } from './answer.ts';
import { previousRequest, readTrendsSearch, trendsRequest, writeTrendsSearch } from './search.ts';

const at = { today: dayOfText('2026-11-23'), calendar: 'jalali' } as const;

describe('the state of trends', () => {
  const search = readTrendsSearch({
    series: [
      { event: 'order_completed', measure: 'sum', property: 'price' },
      { event: 'product_viewed', measure: 'people' },
    ],
    range: '7d',
    formula: 'divide',
    compare: true,
    breakdown: { field: 'city' },
  });

  it('survives its link', () => {
    expect(readTrendsSearch(writeTrendsSearch(search))).toEqual(search);
  });

  it('compares with as many days directly before', () => {
    expect(trendsRequest(search, at)).toMatchObject({ from: '2026-11-17', to: '2026-11-24' });
    expect(previousRequest(search, at)).toMatchObject({ from: '2026-11-10', to: '2026-11-17' });
  });

  it('asks nothing as long as a sum has no property', () => {
    const sum = readTrendsSearch({ series: [{ event: 'a', measure: 'sum' }] });
    expect(trendsRequest(sum, at)).toBeUndefined();
  });
});

it.each([
  ['divide', 1, 4, 0.25],
  ['divide', 1, 0, null],
  ['subtract', 1, 4, -3],
  ['add', null, 4, null],
] as const)('the formula %s of %j and %j is %j', (formula, left, right, result) => {
  expect(applyFormula(formula, left, right)).toBe(result);
});
