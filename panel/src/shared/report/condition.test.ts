import { describe, expect, it } from 'vitest';
import { isComplete, numberIn, readFilters, readSelectors } from './condition.ts';

describe('the filters of a URL', () => {
  it('are read as the request writes them', () => {
    const filters = [
      { property: 'price', op: 'gt', value: 5 },
      { field: 'city', op: 'in', value: ['تهران', 'شیراز'] },
      { trait: 'plan', op: 'is_set' },
    ];
    expect(readFilters(filters)).toEqual(filters);
  });

  it('that no report has are left out', () => {
    expect(readFilters([7, { property: 'a' }, { op: 'eq' }, { trait: 'a', op: 'like' }])).toEqual(
      [],
    );
    expect(readSelectors([{ event: 'a', filters: [{}] }, { event: 7 }, null])).toEqual([
      { event: 'a' },
    ]);
  });
});

it.each([
  ['۱۲٬۳۴۵', 12_345],
  ['۲٫۵', 2.5],
  ['1,000', 1000],
  ['-3', -3],
  ['', undefined],
  ['سه', undefined],
])('the number that somebody typed as %j is %j', (text, number) => {
  expect(numberIn(text)).toBe(number);
});

it.each([
  [{ property: 'a', op: 'eq', value: '' } as const, false],
  [{ property: 'a', op: 'eq', value: 'x' } as const, true],
  [{ property: '', op: 'is_set' } as const, false],
  [{ trait: 'a', op: 'is_set' } as const, true],
  [{ property: 'a', op: 'gt', value: 'x' } as const, false],
  [{ property: 'a', op: 'between', value: [1, 2] } as const, true],
  [{ property: 'a', op: 'in', value: [] } as const, false],
])('%j is complete: %j', (filter, isIt) => {
  expect(isComplete(filter as never)).toBe(isIt);
});
