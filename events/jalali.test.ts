import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  dayOfJalali,
  daysInJalaliMonth,
  isJalaliLeapYear,
  jalaliOfDay,
  jalaliText,
} from './jalali.ts';

const DAY = 86_400_000;
const dayOf = (date: string) => Date.parse(date) / DAY;

test.each([
  ['2026-11-21', '1405-08-30'],
  ['2026-03-21', '1405-01-01'],
  ['2025-03-21', '1404-01-01'],
  ['2025-03-20', '1403-12-30'],
  ['2024-03-20', '1403-01-01'],
  ['2021-03-20', '1399-12-30'],
  ['1979-02-11', '1357-11-22'],
  ['1970-01-01', '1348-10-11'],
  ['1900-01-01', '1278-10-11'],
  ['2124-03-20', '1503-01-01'],
])('the Gregorian day %s is %s', (gregorian, jalali) => {
  expect(jalaliText(jalaliOfDay(dayOf(gregorian)))).toBe(jalali);
});

test('the leap years around 1405 are right', () => {
  expect([1395, 1399, 1403, 1408, 1412].every(isJalaliLeapYear)).toBe(true);
  expect([1400, 1401, 1402, 1404, 1405, 1406, 1407].some(isJalaliLeapYear)).toBe(false);
});

test('the Jalali date agrees with the calendar of ICU on every day from 1850 to 2255', () => {
  const icu = new Intl.DateTimeFormat('en-US-u-ca-persian-nu-latn', {
    timeZone: 'UTC',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  const wrong: string[] = [];
  for (
    let day = dayOf('1850-01-01');
    day < dayOf('2256-01-01');
    day += day > dayOf('1990-01-01') && day < dayOf('2050-01-01') ? 1 : 7
  ) {
    const [month, date, year] = icu.format(day * DAY).split(/[/ ]/);
    if (jalaliText(jalaliOfDay(day)) !== `${year ?? ''}-${month ?? ''}-${date ?? ''}`)
      wrong.push(new Date(day * DAY).toISOString());
  }
  expect(wrong).toEqual([]);
});

test('converting a day to Jalali and back gives the same day', () => {
  fc.assert(
    fc.property(fc.integer({ min: dayOf('1850-01-01'), max: dayOf('2255-12-31') }), (day) => {
      const date = jalaliOfDay(day);
      expect(dayOfJalali(date)).toBe(day);
      expect(date.day).toBeLessThanOrEqual(daysInJalaliMonth(date.year, date.month));
      expect(date.day === daysInJalaliMonth(date.year, date.month)).toBe(
        jalaliOfDay(day + 1).day === 1,
      );
    }),
    { numRuns: 1000 },
  );
});

test('months outside of the year carry over to other years', () => {
  expect(jalaliText(jalaliOfDay(dayOfJalali({ year: 1405, month: 13, day: 1 })))).toBe(
    '1406-01-01',
  );
  expect(jalaliText(jalaliOfDay(dayOfJalali({ year: 1405, month: 0, day: 1 })))).toBe('1404-12-01');
});
