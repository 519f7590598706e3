import { expect, it } from 'vitest';
import { dayOfText } from '../../shared/format/dates.ts';
import { funnelRequest, readFunnelSearch, writeFunnelSearch } from './search.ts';

const today = dayOfText('2026-11-23');

it('a link without a state is an empty funnel of the last 30 days', () => {
  const search = readFunnelSearch({});
  expect(search).toMatchObject({ range: '30d', order: 'ordered', window: 604_800 });
  expect(search.steps).toHaveLength(2);
  expect(funnelRequest(search, today)).toBeUndefined();
});

it('a state survives its link', () => {
  const search = readFunnelSearch({
    steps: [{ event: 'a', filters: [{ property: 'p', op: 'eq', value: 'x' }] }, { event: 'b' }],
    range: '2026-11-01..2026-11-05',
    order: 'strict',
    window: 3600,
    exclude: [{ event: 'c' }],
    breakdown: { trait: 'city' },
  });
  expect(readFunnelSearch(writeFunnelSearch(search))).toEqual(search);
  expect(funnelRequest(search, today)).toEqual({
    steps: [{ event: 'a', filters: [{ property: 'p', op: 'eq', value: 'x' }] }, { event: 'b' }],
    ...{ from: '2026-11-01', to: '2026-11-06', order: 'strict', window_seconds: 3600 },
    exclude: [{ event: 'c' }],
    filters: [],
    breakdown: { trait: 'city', limit: 10 },
  });
});

it('conditions that are not complete are not in the request', () => {
  const search = readFunnelSearch({
    steps: [{ event: 'a', filters: [{ property: 'p', op: 'eq' }] }, { event: 'b' }],
    filters: [{ trait: '', op: 'is_set' }],
    breakdown: { property: '' },
  });
  expect(funnelRequest(search, today)).toMatchObject({
    steps: [{ event: 'a' }, { event: 'b' }],
    filters: [],
  });
  expect(funnelRequest(search, today)).not.toHaveProperty('breakdown');
});
