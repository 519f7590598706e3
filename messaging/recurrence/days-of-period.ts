import { CALENDARS, weekdayOf } from './calendar.ts';
import {
  ascending,
  daysOfMonths,
  monthAt,
  monthScope,
  yearScope,
  type Month,
} from './days-of-months.ts';
import type { Rule } from './rule.ts';

/** The periods of a rule (days, weeks, months or years), `interval` apart; 0 holds the start. */
export interface Periods {
  /** The days of a period, ascending; the first or last may be one day outside (SKIP). */
  days(index: number): number[];
  /** First day of a period. */
  firstDay(index: number): number;
  /** The last period that begins on or before a day; negative before the start. */
  indexOf(day: number): number;
}

/** Periods and their days as RFC 5545 (table of 3.3.10) and RFC 7529 (section 4.1) expand them. */
export function periodsOf(rule: Rule, startDay: number): Periods {
  switch (rule.frequency) {
    case 'DAILY':
      return daily(rule, startDay);
    case 'WEEKLY':
      return weekly(rule, startDay);
    case 'MONTHLY':
      return monthly(rule, startDay);
    case 'YEARLY':
      return yearly(rule, startDay);
  }
}

function daily(rule: Rule, startDay: number): Periods {
  const calendar = CALENDARS[rule.calendar];
  const { byDay, byMonth, byMonthDay, interval } = rule;
  const firstDay = (index: number) => startDay + index * interval;
  const isIncluded = (number: number) => {
    if (byDay.length > 0 && !byDay.some(({ weekday }) => weekday === weekdayOf(number)))
      return false;
    if (byMonth.length === 0 && byMonthDay.length === 0) return true;
    const { year, month, day } = calendar.dateOf(number);
    if (byMonth.length > 0 && !byMonth.includes(month)) return false;
    if (byMonthDay.length === 0) return true;
    const fromEnd = day - calendar.daysInMonth(year, month) - 1;
    return byMonthDay.includes(day) || byMonthDay.includes(fromEnd);
  };
  return {
    firstDay,
    days: (index) => [firstDay(index)].filter(isIncluded),
    indexOf: (day) => Math.floor((day - startDay) / interval),
  };
}

function weekly(rule: Rule, startDay: number): Periods {
  const calendar = CALENDARS[rule.calendar];
  const { byDay, byMonth, interval, weekStart } = rule;
  const offset = (weekday: number) => (weekday - weekStart + 7) % 7;
  const startWeek = startDay - offset(weekdayOf(startDay));
  const weekdays = byDay.length > 0 ? byDay.map((one) => one.weekday) : [weekdayOf(startDay)];
  const offsets = ascending(weekdays.map(offset));
  const firstDay = (index: number) => startWeek + 7 * interval * index;
  return {
    firstDay,
    days: (index) =>
      offsets
        .map((days) => firstDay(index) + days)
        .filter((day) => byMonth.length === 0 || byMonth.includes(calendar.dateOf(day).month)),
    indexOf: (day) => Math.floor((day - startWeek) / (7 * interval)),
  };
}

function monthly(rule: Rule, startDay: number): Periods {
  const calendar = CALENDARS[rule.calendar];
  const start = calendar.dateOf(startDay);
  const monthOf = (index: number): Month => {
    const months = start.month - 1 + index * rule.interval;
    return monthAt(calendar, start.year + Math.floor(months / 12), (((months % 12) + 12) % 12) + 1);
  };
  return {
    firstDay: (index) => monthOf(index).first,
    days(index) {
      const month = monthOf(index);
      if (rule.byMonth.length > 0 && !rule.byMonth.includes(month.month)) return [];
      return daysOfMonths([month], { rule, startDate: start, scopeOf: monthScope(calendar) });
    },
    indexOf(day) {
      const { year, month } = calendar.dateOf(day);
      return Math.floor(((year - start.year) * 12 + month - start.month) / rule.interval);
    },
  };
}

function yearly(rule: Rule, startDay: number): Periods {
  const calendar = CALENDARS[rule.calendar];
  const start = calendar.dateOf(startDay);
  const { byDay, byMonth, byMonthDay, interval } = rule;
  const yearOf = (index: number) => start.year + index * interval;
  const isOfYear = byMonth.length === 0 && byDay.length > 0;
  const months =
    byMonth.length > 0
      ? byMonth
      : byMonthDay.length > 0 || byDay.length > 0
        ? ALL_MONTHS
        : [start.month];
  return {
    firstDay: (index) => calendar.monthStart(yearOf(index), 1),
    days(index) {
      const year = yearOf(index);
      const found = months.map((month) => monthAt(calendar, year, month));
      const scopeOf = isOfYear ? yearScope(calendar) : monthScope(calendar);
      return daysOfMonths(found, { rule, startDate: start, scopeOf });
    },
    indexOf: (day) => Math.floor((calendar.dateOf(day).year - start.year) / interval),
  };
}

const ALL_MONTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
