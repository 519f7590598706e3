import { dayOfJalali, daysInJalaliMonth, jalaliOfDay } from '../../../../events/jalali.ts';
import { startOfTehranDay, tehranOffset } from '../../../../events/tehran-time.ts';

const MINUTE = 60_000;

/** A day and a time of Tehran's clock, `09:30`. */
export interface When {
  day: number;
  time: string;
}

export const EVERY = ['day', 'week', 'month'] as const;
export type Every = (typeof EVERY)[number];

/** The instant as RFC 3339 with Tehran's offset; undefined: the time is not complete. */
export function instantOf({ day, time }: When): string | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time);
  if (!match) return undefined;
  const instant = startOfTehranDay(day) + (Number(match[1]) * 60 + Number(match[2])) * MINUTE;
  const offset = tehranOffset(instant);
  const local = new Date(instant + offset).toISOString().slice(0, 19);
  const minutes = Math.abs(offset) / MINUTE;
  const pad = (value: number) => String(value).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

/** The rule of a recurrence that begins at some time; months are Jalali. */
export function ruleOf(every: Every): string {
  switch (every) {
    case 'day':
      return 'FREQ=DAILY';
    case 'week':
      return 'FREQ=WEEKLY';
    case 'month':
      return 'RSCALE=PERSIAN;FREQ=MONTHLY';
  }
}

/**
 * The days of the first instances of `ruleOf(every)` that begins on a day, which is one of them. A
 * month that is too short has its last day (messaging/recurrence).
 */
export function firstDays(every: Every, start: number, count = 3): number[] {
  const date = jalaliOfDay(start);
  return Array.from({ length: count }, (_, at) => {
    if (every !== 'month') return start + at * (every === 'week' ? 7 : 1);
    const months = date.month - 1 + at;
    const [year, month] = [date.year + Math.floor(months / 12), (months % 12) + 1];
    return dayOfJalali({ year, month, day: Math.min(date.day, daysInJalaliMonth(year, month)) });
  });
}
