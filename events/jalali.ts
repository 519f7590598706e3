/** A day of the Jalali (Solar Hijri) calendar. Month 1 is Farvardin; days start at 1. */
export interface JalaliDate {
  year: number;
  month: number;
  day: number;
}

/** Day number (days since 1970-01-01) of 1 Farvardin 1. */
const EPOCH_DAY = -492_268;

/** Days of a year before a month: six months of 31 days, five of 30, Esfand of 29 or 30. */
function daysBeforeMonth(month: number): number {
  return month <= 7 ? (month - 1) * 31 : (month - 1) * 30 + 6;
}

/** Years that start a day before the 33-year cycle predicts: the equinox is just before noon. */
const EARLY_YEARS: ReadonlySet<number> = new Set([1503, 1602]);

/**
 * Day number of 1 Farvardin of a year. Leap years follow the 33-year cycle ((25 y + 11) mod 33 < 8)
 * apart from EARLY_YEARS. This matches the equinox in Tehran for the years 1229 to 1633 (1850 to
 * 2255); outside of them it may be a day off.
 */
function nowruz(year: number): number {
  return (
    EPOCH_DAY +
    365 * (year - 1) +
    Math.floor((8 * year + 21) / 33) -
    (EARLY_YEARS.has(year) ? 1 : 0)
  );
}

export function isJalaliLeapYear(year: number): boolean {
  return nowruz(year + 1) - nowruz(year) === 366;
}

export function daysInJalaliMonth(year: number, month: number): number {
  if (month <= 6) return 31;
  return month <= 11 || isJalaliLeapYear(year) ? 30 : 29;
}

/** Day number (from 1970-01-01) of a Jalali day. Month and day may overflow: month 13 works. */
export function dayOfJalali({ year, month, day }: JalaliDate): number {
  const carried = year + Math.floor((month - 1) / 12);
  const inYear = (((month - 1) % 12) + 12) % 12;
  return nowruz(carried) + daysBeforeMonth(inYear + 1) + day - 1;
}

/** The Jalali day of a day number (days since 1970-01-01). */
export function jalaliOfDay(day: number): JalaliDate {
  let year = Math.floor((day - EPOCH_DAY) / 365.2422) + 1;
  while (nowruz(year) > day) year--;
  while (nowruz(year + 1) <= day) year++;
  const inYear = day - nowruz(year);
  const month = inYear < 186 ? Math.floor(inYear / 31) + 1 : Math.floor((inYear - 186) / 30) + 7;
  return { year, month, day: inYear - daysBeforeMonth(month) + 1 };
}

/** `1405-08-30`. */
export function jalaliText({ year, month, day }: JalaliDate): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}
