import { dayOfJalali, jalaliOfDay, jalaliText } from '../../../events/jalali.ts';
import { dayText } from '../../../events/tehran-time.ts';
import { dayOf, startOfDay } from '../../../audiences/conditions/time-zone.ts';
import type { PeriodRule, RetentionRequest } from './request.ts';

const DAY = 86_400_000;
/** A day number (days since 1970-01-01) that is the first of its week. */
const FIRST_OF_WEEK: Record<PeriodRule['weekStart'], number> = {
  saturday: 2,
  sunday: 3,
  monday: 4,
};

/** First day of the period that contains a day. Days are days since 1970-01-01. */
export function periodStart(day: number, rule: PeriodRule): number {
  switch (rule.period) {
    case 'day':
      return day;
    case 'week':
      return day - ((((day - FIRST_OF_WEEK[rule.weekStart]) % 7) + 7) % 7);
    case 'month':
      return monthStart(day, { rule, ahead: 0 });
  }
}

/** First day of the period after the one that begins on `start`. */
export function nextPeriod(start: number, rule: PeriodRule): number {
  switch (rule.period) {
    case 'day':
      return start + 1;
    case 'week':
      return start + 7;
    case 'month':
      return monthStart(start, { rule, ahead: 1 });
  }
}

function monthStart(day: number, { rule, ahead }: { rule: PeriodRule; ahead: number }): number {
  if (rule.calendar === 'jalali') {
    const { year, month } = jalaliOfDay(day);
    return dayOfJalali({ year, month: month + ahead, day: 1 });
  }
  const date = new Date(day * DAY);
  return Math.floor(date.setUTCMonth(date.getUTCMonth() + ahead, 1) / DAY);
}

export interface Periods {
  /** First days of the cohorts' periods, as the answer writes them. */
  labels: string[];
  /**
   * First instants, epoch milliseconds, of the periods of the cohorts and of those in which they
   * can return. The last entry is only the end of the last period.
   */
  starts: number[];
}

/**
 * The periods of a report: the range extended to whole periods, followed by the periods in which
 * the last cohort can return.
 */
export function periodsOf({
  range,
  rule,
  periods,
}: Pick<RetentionRequest, 'range' | 'rule' | 'periods'>): Periods {
  const { timeZone } = range;
  const lastDay = dayOf(range.to - 1, timeZone);
  const days: number[] = [];
  for (
    let day = periodStart(dayOf(range.from, timeZone), rule);
    day <= lastDay;
    day = nextPeriod(day, rule)
  )
    days.push(day);
  const labels = days.map((day) =>
    rule.calendar === 'jalali' ? jalaliText(jalaliOfDay(day)) : dayText(day),
  );
  // the first of the last cohort's periods is its own
  for (let ahead = 0; ahead < periods; ahead++) days.push(nextPeriod(days.at(-1) ?? 0, rule));
  return { labels, starts: days.map((day) => startOfDay(day, timeZone)) };
}
