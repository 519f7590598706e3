import { describe, expect, test } from 'vitest';
import { periodsOf } from './periods.ts';
import { parseRetention } from './request.ts';

function periods(fields: object): { labels: string[]; starts: string[] } {
  const parsed = parseRetention({ start: { event: 'a' }, return: { event: 'b' }, ...fields });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  const { labels, starts } = periodsOf(parsed.request);
  return { labels, starts: starts.map((start) => new Date(start).toISOString()) };
}

describe('the range of a retention report', () => {
  test('is extended to whole days', () => {
    const { labels, starts } = periods({
      from: '2026-09-21T10:00:00+03:30',
      to: '2026-09-23',
      periods: 2,
    });
    expect(labels).toEqual(['2026-09-21', '2026-09-22']);
    expect(starts).toEqual([
      '2026-09-20T20:30:00.000Z',
      '2026-09-21T20:30:00.000Z',
      '2026-09-22T20:30:00.000Z',
      '2026-09-23T20:30:00.000Z',
    ]);
  });

  test('has weeks that begin on Saturday unless week_start says otherwise', () => {
    const range = { from: '2026-11-18', to: '2026-11-22', period: 'week', periods: 1 };
    expect(periods(range).labels).toEqual(['2026-11-14', '2026-11-21']);
    expect(periods({ ...range, week_start: 'sunday' }).labels).toEqual(['2026-11-15']);
    expect(periods({ ...range, week_start: 'monday' }).labels).toEqual(['2026-11-16']);
  });

  test('is extended to whole Gregorian or Jalali months', () => {
    const range = { from: '2026-03-20', to: '2026-04-21', period: 'month', periods: 1 };
    expect(periods(range).labels).toEqual(['2026-03-01', '2026-04-01']);
    const jalali = periods({ ...range, calendar: 'jalali' });
    expect(jalali.labels).toEqual(['1404-12-01', '1405-01-01']);
    expect(jalali.starts).toEqual([
      '2026-02-19T20:30:00.000Z',
      '2026-03-20T20:30:00.000Z',
      '2026-04-20T20:30:00.000Z',
    ]);
  });

  test('has Jalali labels for days and weeks', () => {
    expect(
      periods({ from: '2026-03-20', to: '2026-03-22', calendar: 'jalali', periods: 1 }).labels,
    ).toEqual(['1404-12-29', '1405-01-01']);
    expect(
      periods({
        from: '2026-03-21',
        to: '2026-03-22',
        period: 'week',
        calendar: 'jalali',
        periods: 1,
      }).labels,
    ).toEqual(['1405-01-01']);
  });

  test('has one period for a day of 25 hours', () => {
    const { starts } = periods({
      from: '2026-11-01',
      to: '2026-11-02',
      timezone: 'America/New_York',
      periods: 1,
    });
    expect(starts).toEqual(['2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z']);
  });
});

test('a cohort is followed for `periods` periods across the end of the year', () => {
  const { labels, starts } = periods({
    from: '2026-12-01',
    to: '2027-01-01',
    period: 'month',
    timezone: 'UTC',
    periods: 3,
  });
  expect(labels).toEqual(['2026-12-01']);
  expect(starts).toEqual([
    '2026-12-01T00:00:00.000Z',
    '2027-01-01T00:00:00.000Z',
    '2027-02-01T00:00:00.000Z',
    '2027-03-01T00:00:00.000Z',
  ]);
});
