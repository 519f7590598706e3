import { describe, expect, it } from 'vitest';
import { dateFormat, dayOfText } from './dates.ts';
import { numberFormat } from './numbers.ts';

const fa = { ...numberFormat('fa'), ...dateFormat('fa') };
const en = { ...numberFormat('en'), ...dateFormat('en') };

describe('Persian dates', () => {
  it('are Jalali, in the order and with the digits that Persians write', () => {
    const day = dayOfText('2026-11-22');
    expect(fa.fullDay(day)).toBe('یکشنبه ۱ آذر ۱۴۰۵');
    expect([fa.day(day), fa.shortDay(day), fa.month(day)]).toEqual([
      ...['۱ آذر ۱۴۰۵', '۱ آذر', 'آذر ۱۴۰۵'],
    ]);
  });

  it('are those of Tehran, where a day begins before it begins in UTC', () => {
    expect(fa.dateTime(Date.parse('2026-11-22T20:35:09Z'))).toBe('۲\u00a0آذر\u00a0۱۴۰۵، ۰۰:۰۵');
    expect(fa.time(Date.parse('2026-11-22T20:35:09Z'), 'seconds')).toBe('۰۰:۰۵:۰۹');
  });

  it.each([
    ['2025-03-20', '۳۰ اسفند ۱۴۰۳'],
    ['2025-03-21', '۱ فروردین ۱۴۰۴'],
    ['2026-03-21', '۱ فروردین ۱۴۰۵'],
  ])('know the leap year: %s is %s', (text, shown) => {
    expect(fa.day(dayOfText(text))).toBe(shown);
  });
});

it('English dates are Gregorian, in the time of Tehran', () => {
  expect(en.fullDay(dayOfText('2026-11-22'))).toBe('Sunday 22 November 2026');
  expect(en.dateTime(Date.parse('2026-11-22T20:35:09Z'))).toBe('23\u00a0November\u00a02026, 00:05');
});

describe('numbers', () => {
  it('have Persian digits and separators in Persian', () => {
    expect([fa.count(1_234_567), fa.percent(0.425), fa.decimal(2.5)]).toEqual([
      ...['۱٬۲۳۴٬۵۶۷', '۴۲٫۵٪', '۲٫۵'],
    ]);
    expect([en.count(1_234_567), en.percent(0.425)]).toEqual(['1,234,567', '42.5%']);
  });

  it('of a duration show its two largest units', () => {
    expect(en.duration(7500)).toBe('2 hours and 5 minutes');
    expect(fa.duration(7500)).toBe('۲ ساعت و ۵ دقیقه');
    expect(en.duration(604_800)).toBe('7 days');
    expect(en.duration(0.25)).toBe('0.3 seconds');
  });

  it('of an age are counted in the largest unit that is over', () => {
    expect([fa.ago(65), en.ago(65), en.ago(90_000)]).toEqual([
      ...['۱ دقیقه پیش', '1 minute ago', '1 day ago'],
    ]);
  });
});
