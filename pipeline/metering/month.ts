import { dayOfJalali, type JalaliDate } from '../../events/jalali.ts';
import { startOfTehranDay, tehranJalali } from '../../events/tehran-time.ts';
import type { MeterMonth } from './meters.ts';

function nameOf({ year, month }: JalaliDate): string {
  return `${year}-${String(month).padStart(2, '0')}`;
}

/** Name of the Jalali month in Tehran of an instant, YYYY-MM (ingest 8, Quota). */
export function monthNameOf(at: number): string {
  return nameOf(tehranJalali(at));
}

/** The Jalali month in Tehran that holds an instant. */
export function monthOf(at: number): MeterMonth {
  const { year, month } = tehranJalali(at);
  return {
    name: nameOf({ year, month, day: 1 }),
    start: startOfTehranDay(dayOfJalali({ year, month, day: 1 })),
    end: startOfTehranDay(dayOfJalali({ year, month: month + 1, day: 1 })),
  };
}
