import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayText, quotaMonth, startOfTehranDay, tehranDay, tehranOffset } from './tehran-time.ts';

const DAY = 86_400_000;
const intl = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'Asia/Tehran',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
});
const intlOffset = new Intl.DateTimeFormat('en-US', {
  timeZone: 'Asia/Tehran',
  timeZoneName: 'longOffset',
});

test.each([
  ['2026-11-21T20:29:59.999Z', '2026-11-21'],
  ['2026-11-21T20:30:00.000Z', '2026-11-22'],
  ['2022-07-01T19:29:59.999Z', '2022-07-01'],
  ['2022-07-01T19:30:00.000Z', '2022-07-02'],
  ['2023-07-01T20:29:59.999Z', '2023-07-01'],
  ['2006-07-01T20:29:59.999Z', '2006-07-01'],
])('the instant %s is %s in Tehran', (instant, date) => {
  expect(dayText(tehranDay(Date.parse(instant)))).toBe(date);
});

test('agrees with the time zone data of ICU around every change from 1992 to 2100', () => {
  const wrong: string[] = [];
  for (let day = Date.UTC(1992, 0, 1); day < Date.UTC(2101, 0, 1); day += DAY) {
    for (const instant of [
      day + 19.5 * 3_600_000 - 1,
      day + 19.5 * 3_600_000,
      day + 20.5 * 3_600_000 - 1,
      day + 20.5 * 3_600_000,
    ]) {
      const isNear = /-(03-(19|20|21|22|23)|09-(19|20|21|22|23))T/.test(
        new Date(instant).toISOString(),
      );
      if (isNear && intl.format(instant) !== dayText(tehranDay(instant)))
        wrong.push(new Date(instant).toISOString());
    }
  }
  expect(wrong).toEqual([]);
});

test('agrees with the time zone data of ICU at any instant from 2000 to 2100', () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2100, 0, 1) }), (instant) => {
      expect(intlOffset.format(instant)).toContain(
        tehranOffset(instant) === 4.5 * 3_600_000 ? '+04:30' : '+03:30',
      );
    }),
    { numRuns: 3000 },
  );
});

test('a day starts at its first instant, even when clocks change', () => {
  const days = Array.from({ length: 366 * 40 }, (_, day) => Date.UTC(1992, 0, 1) / DAY + day);
  for (const day of days) {
    const start = startOfTehranDay(day);
    expect(tehranDay(start)).toBe(day);
    expect(tehranDay(start - 1)).toBe(day - 1);
  }
});

describe('a quota month', () => {
  test('of Aban 1405 has 30 days in Tehran time', () => {
    expect(quotaMonth(Date.parse('2026-11-21T10:00:00Z'))).toEqual({
      key: '1405-08',
      from: Date.parse('2026-10-23T00:00:00+03:30'),
      to: Date.parse('2026-11-22T00:00:00+03:30'),
    });
  });

  test('of Esfand in a leap year has 30 days', () => {
    const { key, from, to } = quotaMonth(Date.parse('2025-03-20T12:00:00+03:30'));
    expect([key, (to - from) / DAY]).toEqual(['1403-12', 30]);
  });

  test('starts where the previous one ends', () => {
    let month = quotaMonth(Date.UTC(2000, 0, 1));
    for (let n = 0; n < 1200; n++) {
      const next = quotaMonth(month.to);
      expect(next.from).toBe(month.to);
      expect(quotaMonth(month.to - 1)).toEqual(month);
      expect(next.key > month.key).toBe(true);
      month = next;
    }
  });
});
