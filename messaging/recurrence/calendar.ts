import { dayOfJalali, daysInJalaliMonth, jalaliOfDay } from '../../events/jalali.ts';

/** Values of RSCALE that this installation knows. */
export type CalendarName = 'GREGORIAN' | 'PERSIAN';

/** A calendar of twelve months; day numbers count from 1970-01-01. */
export interface Calendar {
  dateOf(day: number): { year: number; month: number; day: number };
  /** Of the first day of a month. */
  monthStart(year: number, month: number): number;
  daysInMonth(year: number, month: number): number;
}

const DAY_MS = 86_400_000;

/** Day number of a Gregorian date; months and days may overflow. */
function gregorianDay(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) / DAY_MS;
}

const GREGORIAN: Calendar = {
  dateOf(number) {
    const date = new Date(number * DAY_MS);
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
    };
  },
  monthStart: (year, month) => gregorianDay(year, month, 1),
  daysInMonth: (year, month) => gregorianDay(year, month + 1, 1) - gregorianDay(year, month, 1),
};

const PERSIAN: Calendar = {
  dateOf: jalaliOfDay,
  monthStart: (year, month) => dayOfJalali({ year, month, day: 1 }),
  daysInMonth: daysInJalaliMonth,
};

export const CALENDARS: Readonly<Record<CalendarName, Calendar>> = { GREGORIAN, PERSIAN };

/** 0 is Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}
