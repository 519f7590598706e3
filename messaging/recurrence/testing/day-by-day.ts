import { Temporal } from 'temporal-polyfill/full';
import { weekdayOf, type CalendarName } from '../calendar.ts';
import type { Rule } from '../rule.ts';

/**
 * Model of recurrence: asks of each day, one after the other, whether it belongs to the rule. It
 * takes calendars from Temporal, and counts from the day itself instead of expanding periods.
 */
export function* daysOfModel(
  rule: Rule,
  { startDay, days }: { startDay: number; days: number },
): Generator<number, void> {
  for (let day = startDay; day < startDay + days; day++)
    if (belongs(rule, { day, startDay })) yield day;
}

interface Asked {
  day: number;
  startDay: number;
}

function belongs(rule: Rule, { day, startDay }: Asked): boolean {
  const date = dateOf(rule.calendar, day);
  const start = dateOf(rule.calendar, startDay);
  const isInMonths = (month: number) => rule.byMonth.length === 0 || rule.byMonth.includes(month);
  switch (rule.frequency) {
    case 'DAILY':
      return (
        (day - startDay) % rule.interval === 0 &&
        isInMonths(date.month) &&
        (rule.byMonthDay.length === 0 ||
          rule.byMonthDay.some((n) => n === date.day || n === date.day - date.daysInMonth - 1)) &&
        isOnWeekday(rule, day)
      );
    case 'WEEKLY': {
      const weeks = (weekOf(rule, day) - weekOf(rule, startDay)) % rule.interval;
      const isStartWeekday = weekdayOf(day) === weekdayOf(startDay);
      const isWeekday = rule.byDay.length > 0 ? isOnWeekday(rule, day) : isStartWeekday;
      return weeks === 0 && isInMonths(date.month) && isWeekday;
    }
    case 'MONTHLY': {
      const isMonth = ({ year, month }: YearMonth) =>
        ((year - start.year) * 12 + month - start.month) % rule.interval === 0 && isInMonths(month);
      return monthsOf(rule, { day, startDay }).some(isMonth) && isOnWeekday(rule, day);
    }
    case 'YEARLY': {
      const isFree = rule.byMonthDay.length > 0 || rule.byDay.length > 0;
      const isMonth = ({ year, month }: YearMonth) =>
        (year - start.year) % rule.interval === 0 &&
        (isFree || rule.byMonth.length > 0 ? isInMonths(month) : month === start.month);
      return monthsOf(rule, { day, startDay }).some(isMonth) && isOnWeekday(rule, day);
    }
  }
}

interface YearMonth {
  year: number;
  month: number;
}

/** The months that yield a day: its own one, or the one before or after it, by SKIP. */
function monthsOf(rule: Rule, { day, startDay }: Asked): YearMonth[] {
  if (rule.byMonthDay.length === 0 && rule.byDay.length > 0) return [dateOf(rule.calendar, day)];
  const wanted =
    rule.byMonthDay.length > 0 ? rule.byMonthDay : [dateOf(rule.calendar, startDay).day];
  const own = dateOf(rule.calendar, day);
  const before = dateOf(rule.calendar, day - own.day);
  const after = dateOf(rule.calendar, day - own.day + own.daysInMonth + 1);
  const isLast = own.day === own.daysInMonth;
  const months: YearMonth[] = [];
  for (const n of wanted) {
    if (n === own.day || n === own.day - own.daysInMonth - 1) months.push(own);
    if (rule.skip === 'BACKWARD' && isLast && n > own.daysInMonth) months.push(own);
    if (rule.skip === 'BACKWARD' && isLast && -n > after.daysInMonth) months.push(after);
    if (rule.skip === 'FORWARD' && own.day === 1 && -n > own.daysInMonth) months.push(own);
    if (rule.skip === 'FORWARD' && own.day === 1 && n > before.daysInMonth) months.push(before);
  }
  return months;
}

function isOnWeekday(rule: Rule, day: number): boolean {
  const date = dateOf(rule.calendar, day);
  const isOfYear = rule.frequency === 'YEARLY' && rule.byMonth.length === 0;
  const [at, length] = isOfYear ? [date.dayOfYear, date.daysInYear] : [date.day, date.daysInMonth];
  return (
    rule.byDay.length === 0 ||
    rule.byDay.some(
      ({ weekday, ordinal }) =>
        weekday === weekdayOf(day) &&
        (ordinal === 0 ||
          ordinal === Math.ceil(at / 7) ||
          -ordinal === Math.ceil((length - at + 1) / 7)),
    )
  );
}

/** Number of the week that holds a day. */
function weekOf(rule: Rule, day: number): number {
  return (day - ((weekdayOf(day) - rule.weekStart + 7) % 7) - EPOCH_SUNDAY - rule.weekStart) / 7;
}

/** 1970-01-04. */
const EPOCH_SUNDAY = 3;

const cached = new Map<string, Temporal.PlainDate>();

function dateOf(calendar: CalendarName, day: number): Temporal.PlainDate {
  const key = `${calendar}${day}`;
  const known = cached.get(key);
  if (known) return known;
  const date = Temporal.PlainDate.from('1970-01-01').add({ days: day });
  const inCalendar = calendar === 'PERSIAN' ? date.withCalendar('persian') : date;
  cached.set(key, inCalendar);
  return inCalendar;
}
