import { describe, expect, it } from 'vitest';
import { dayOfText } from '../format/dates.ts';
import { daysOf, readRange, requestRange } from './range.ts';

/** 3 Azar 1405. */
const today = dayOfText('2026-11-24');

describe('the range of a report', () => {
  it.each([
    ['7d', '2026-11-18', '2026-11-25'],
    ['30d', '2026-10-26', '2026-11-25'],
    ['this-month', '2026-11-22', '2026-11-25'],
    ['last-month', '2026-10-23', '2026-11-22'],
    ['2026-11-01..2026-11-02', '2026-11-01', '2026-11-03'],
  ] as const)('%s is from %s to before %s', (range, from, to) => {
    expect(requestRange(range, today)).toEqual({ from, to });
  });

  it('in Farvardin, the last month is Esfand of the year before', () => {
    const { from, to } = daysOf('last-month', dayOfText('2026-03-25'));
    expect([from, to]).toEqual([dayOfText('2026-02-20'), dayOfText('2026-03-21')]);
  });

  it.each([undefined, 7, 'x', '2026-11-02..2026-11-01', '2020-01-01..2026-01-01', '2026-1-1..'])(
    'of a URL that says %j is the default',
    (value) => {
      expect(readRange(value)).toBe('30d');
    },
  );
});
