import { describe, expect, it } from 'vitest';
import { periodStartsOf } from './periods.ts';
import { parseTrends } from './request.ts';

const body = { series: [{ event: 'a' }], from: '2026-09-20', to: '2026-09-22' };

function kindOf(change: object): string | undefined {
  const read = parseTrends({ ...body, ...change });
  return read.ok ? undefined : read.problem.kind;
}

describe('the request of trends', () => {
  it('has defaults: events, by day, Gregorian, in Tehran', () => {
    expect(parseTrends(body)).toMatchObject({
      ok: true,
      request: {
        series: [{ event: 'a', label: 'a', measure: 'events', property: undefined }],
        rule: { period: 'day', calendar: 'gregorian', weekStart: 'saturday' },
        range: { timeZone: 'Asia/Tehran' },
      },
    });
  });

  it.each([
    ['no series', { series: [] }],
    ['seven series', { series: Array.from({ length: 7 }, () => ({ event: 'a' })) }],
    ['an empty event', { series: [{ event: '' }] }],
    ['an unknown measure', { series: [{ event: 'a', measure: 'median' }] }],
    ['a sum without a property', { series: [{ event: 'a', measure: 'sum' }] }],
    ['a count with a property', { series: [{ event: 'a', property: 'price' }] }],
    ['an unknown period', { period: 'year' }],
    ['hours of two months', { period: 'hour', to: '2026-11-20' }],
    ['three years', { to: '2029-09-20' }],
    ['a range that ends before it begins', { to: '2026-09-19' }],
  ])('is refused with %s', (_, change) => {
    expect(kindOf(change)).toBeDefined();
  });
});

describe('the periods of trends', () => {
  function startsOf(change: object): string[] {
    const read = parseTrends({ ...body, ...change });
    if (!read.ok) throw new Error(read.problem.message);
    return periodStartsOf(read.request).map((at) => new Date(at).toISOString());
  }

  it('are whole days of Tehran, and the end of the last', () => {
    expect(startsOf({})).toEqual([
      '2026-09-19T20:30:00.000Z',
      '2026-09-20T20:30:00.000Z',
      '2026-09-21T20:30:00.000Z',
    ]);
  });

  it('are hours of the clock in Tehran, half an hour off those of UTC', () => {
    const hours = { from: '2026-09-20T10:15:00+03:30', to: '2026-09-20T12:00:00+03:30' };
    expect(startsOf({ period: 'hour', ...hours })).toEqual([
      '2026-09-20T06:30:00.000Z',
      '2026-09-20T07:30:00.000Z',
      '2026-09-20T08:30:00.000Z',
    ]);
  });

  it('of a Jalali month begin on its first day', () => {
    const [first, second] = startsOf({ period: 'month', calendar: 'jalali' });
    // 1 Shahrivar and 1 Mehr 1405
    expect([first, second]).toEqual(['2026-08-22T20:30:00.000Z', '2026-09-22T20:30:00.000Z']);
  });
});
