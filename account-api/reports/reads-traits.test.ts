import { expect, it } from 'vitest';
import { parseFunnel } from './funnel/request.ts';
import { readsTraits } from './routes.ts';

const trait = { trait: 'tier', op: 'is_set' };
const field = { field: 'city', op: 'is_set' };
const base = { steps: [{ event: 'a' }, { event: 'b' }], from: '2026-01-01', to: '2026-01-02' };

it.each<[string, object, boolean]>([
  ['no condition', {}, false],
  ['a field', { filters: [field] }, false],
  ['a filter of the report', { filters: [field, trait] }, true],
  ['a filter of a step', { steps: [{ event: 'a' }, { event: 'b', filters: [trait] }] }, true],
  ['a filter of an exclusion', { exclude: [{ event: 'c', filters: [trait] }] }, true],
  ['the breakdown', { breakdown: { trait: 'tier' } }, true],
])(
  'whether a report reads traits follows from its conditions and its breakdown: %s',
  (_, more, expected) => {
    const parsed = parseFunnel({ ...base, ...more });
    if (!parsed.ok) throw new Error(parsed.problem.message);
    const { request } = parsed;
    expect(readsTraits({ ...request, selectors: [...request.steps, ...request.exclude] })).toBe(
      expected,
    );
  },
);
