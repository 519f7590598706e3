import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cachedTimeZones, dayOf, isTimeZone, startOfDay, wallClock } from './time-zone.ts';

const DAY = 86_400_000;
const dayNumber = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY;
const startOf = (date: string, timeZone: string): string =>
  new Date(startOfDay(dayNumber(date), timeZone)).toISOString();

describe('the first instant of a day', () => {
  test.each([
    ['Asia/Tehran', '2026-11-21', '2026-11-20T20:30:00.000Z'],
    // Iran's clocks jumped over midnight until 2022
    ['Asia/Tehran', '2022-03-22', '2022-03-21T20:30:00.000Z'],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z'],
    ['America/New_York', '2026-11-02', '2026-11-02T05:00:00.000Z'],
    // midnight comes twice in Havana: at 04:00 and at 05:00
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z'],
    // 00:00 to 00:59 does not exist: the day begins at 01:00
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00.000Z'],
    ['Pacific/Auckland', '2026-09-27', '2026-09-26T12:00:00.000Z'],
    ['UTC', '1969-12-31', '1969-12-31T00:00:00.000Z'],
  ])('in %s on %s is %s', (timeZone, date, instant) => {
    expect(startOf(date, timeZone)).toBe(instant);
  });

  test('that a zone left out is that of the next day', () => {
    expect(startOf('2011-12-30', 'Pacific/Apia')).toBe(startOf('2011-12-31', 'Pacific/Apia'));
  });

  test('is of that day, and the millisecond before it is not', () => {
    const zone = fc.constantFrom(
      'Asia/Tehran',
      'Asia/Beirut',
      'America/Santiago',
      'Australia/Lord_Howe',
      'America/St_Johns',
      'Africa/Cairo',
    );
    fc.assert(
      fc.property(
        zone,
        fc.integer({ min: dayNumber('2015-01-01'), max: dayNumber('2030-01-01') }),
        (timeZone, day) => {
          const start = startOfDay(day, timeZone);
          expect(dayOf(start, timeZone)).toBe(day);
          expect(dayOf(start - 1, timeZone)).toBe(day - 1);
        },
      ),
    );
  });
});

test('the wall clock keeps milliseconds, before 1970 too', () => {
  expect(wallClock(-1, 'UTC')).toBe(-1);
  expect(wallClock(Date.parse('2026-11-21T10:00:00.123Z'), 'Asia/Tehran')).toBe(
    Date.parse('2026-11-21T13:30:00.123Z'),
  );
});

test.each([
  ['Asia/Tehran', true],
  ['UTC', true],
  ['Etc/GMT+3', true],
  ['+03:30', false],
  ['Tehran', false],
  ['', false],
])('whether %j is a time zone is answered %s', (name, is) => {
  expect(isTimeZone(name)).toBe(is);
});

test('a time zone is cached once, however its name is spelled, and an unknown one never', () => {
  expect(isTimeZone('Asia/Tehran')).toBe(true);
  const before = cachedTimeZones();
  const name = 'asia/tehran';
  for (let bits = 0; bits < 512; bits++) {
    const isUpper = (at: number): boolean => (bits & (1 << at)) !== 0;
    const spelling = name.replaceAll(/./g, (one, at: number) =>
      isUpper(at) ? one.toUpperCase() : one,
    );
    expect(isTimeZone(spelling)).toBe(true);
    expect(isTimeZone(`Asia/Nowhere${bits}`)).toBe(false);
  }
  expect(cachedTimeZones()).toEqual(before);
  expect(dayOf(Date.parse('2026-11-20T20:30:00Z'), 'ASIA/tehran')).toBe(dayNumber('2026-11-21'));
  expect(isTimeZone('Iran')).toBe(true);
  expect(cachedTimeZones()).toEqual({ zones: before.zones, spellings: before.spellings + 1 });
});
