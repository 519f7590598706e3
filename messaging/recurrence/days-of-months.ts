import { weekdayOf, type Calendar } from './calendar.ts';
import type { ByDay, Rule, Skip } from './rule.ts';

/** Days `first` to `last`. */
interface Scope {
  first: number;
  last: number;
}

/** The scope of a day in which BYDAY counts: its month or its year. */
type ScopeOf = (day: number) => Scope;

export function monthScope(calendar: Calendar): ScopeOf {
  return (day) => {
    const { year, month } = calendar.dateOf(day);
    return monthAt(calendar, year, month);
  };
}

export function yearScope(calendar: Calendar): ScopeOf {
  return (day) => {
    const { year } = calendar.dateOf(day);
    return { first: calendar.monthStart(year, 1), last: calendar.monthStart(year + 1, 1) - 1 };
  };
}

export interface Month extends Scope {
  month: number;
}

export function monthAt(calendar: Calendar, year: number, month: number): Month {
  const first = calendar.monthStart(year, month);
  return { month, first, last: first + calendar.daysInMonth(year, month) - 1 };
}

/** BYMONTHDAY, then SKIP, then BYDAY (RFC 7529, section 4.1). */
export function daysOfMonths(
  months: readonly Month[],
  { rule, startDate, scopeOf }: { rule: Rule; startDate: { day: number }; scopeOf: ScopeOf },
): number[] {
  const { byDay, byMonthDay, skip } = rule;
  const isEveryDay = byDay.length > 0 && byMonthDay.length === 0;
  const wanted = byMonthDay.length > 0 ? byMonthDay : [startDate.day];
  const days = months.flatMap((month) =>
    isEveryDay ? rangeOf(month) : monthDays(month, wanted, skip),
  );
  return ascending(byDay.length > 0 ? days.filter((day) => isOneOf(byDay, day, scopeOf)) : days);
}

/** BYMONTHDAY of one month; SKIP moves a day that the month does not have just outside of it. */
function monthDays(month: Scope, wanted: readonly number[], skip: Skip): number[] {
  const length = month.last - month.first + 1;
  return wanted.flatMap((day) => {
    if (Math.abs(day) <= length) return [day > 0 ? month.first + day - 1 : month.last + day + 1];
    if (skip === 'OMIT') return [];
    const invalid = day > 0 ? month.last + 1 : month.first;
    return [skip === 'FORWARD' ? invalid : invalid - 1];
  });
}

function isOneOf(byDay: readonly ByDay[], day: number, scopeOf: ScopeOf): boolean {
  return byDay.some(({ weekday, ordinal }) => {
    if (weekday !== weekdayOf(day)) return false;
    if (ordinal === 0) return true;
    const { first, last } = scopeOf(day);
    const before = ordinal > 0 ? day - first : last - day;
    return Math.floor(before / 7) + 1 === Math.abs(ordinal);
  });
}

function rangeOf({ first, last }: Scope): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** Sorted, each once. */
export function ascending(days: readonly number[]): number[] {
  return [...new Set(days)].sort((one, other) => one - other);
}
