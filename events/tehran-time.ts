import { dayOfJalali, jalaliOfDay, type JalaliDate } from './jalali.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Iran standard time, UTC+3:30. */
const STANDARD = 3.5 * HOUR;
/** Iran daylight time, UTC+4:30. */
const DAYLIGHT = 4.5 * HOUR;

/**
 * Jalali years with daylight time, from the start of 2 Farvardin to the start (in daylight time) of
 * 31 Shahrivar. Abolished after 1401.
 */
function hadDaylightTime(year: number): boolean {
  return (year >= 1371 && year <= 1384) || (year >= 1387 && year <= 1401);
}

/** End of the last daylight time, 2022-09-21T19:30Z. Most events are later. */
const DAYLIGHT_ABOLISHED = 1_663_788_600_000;

/** Offset of Asia/Tehran from UTC, ms. Exact from 1992; before that the standard offset. */
export function tehranOffset(instant: number): number {
  if (instant >= DAYLIGHT_ABOLISHED) return STANDARD;
  const { year } = jalaliOfDay(Math.floor((instant + STANDARD) / DAY));
  if (!hadDaylightTime(year)) return STANDARD;
  const begins = dayOfJalali({ year, month: 1, day: 2 }) * DAY - STANDARD;
  const ends = dayOfJalali({ year, month: 6, day: 31 }) * DAY - DAYLIGHT;
  return instant >= begins && instant < ends ? DAYLIGHT : STANDARD;
}

/** Day number (days since 1970-01-01) of an instant in Tehran. */
export function tehranDay(instant: number): number {
  return Math.floor((instant + tehranOffset(instant)) / DAY);
}

/** First instant of a Tehran day, Unix ms: 01:00 on the day when daylight time starts. */
export function startOfTehranDay(day: number): number {
  const inDaylight = day * DAY - DAYLIGHT;
  return tehranDay(inDaylight) === day ? inDaylight : day * DAY - STANDARD;
}

/** The Jalali day of an instant in Tehran. */
export function tehranJalali(instant: number): JalaliDate {
  return jalaliOfDay(tehranDay(instant));
}

/** Gregorian date of a day number, `2026-11-21`. */
export function dayText(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10);
}

/** A quota's Jalali month in Tehran (ingest 8): `key` like `1405-08`, from ≤ t < to, Unix ms. */
export interface QuotaMonth {
  key: string;
  from: number;
  to: number;
}

/** The quota month of an instant. */
export function quotaMonth(instant: number): QuotaMonth {
  const { year, month } = tehranJalali(instant);
  return {
    key: `${year}-${String(month).padStart(2, '0')}`,
    from: startOfTehranDay(dayOfJalali({ year, month, day: 1 })),
    to: startOfTehranDay(dayOfJalali({ year, month: month + 1, day: 1 })),
  };
}
