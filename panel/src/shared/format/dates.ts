import { jalaliOfDay } from '../../../../events/jalali.ts';
import { dayText, tehranDay, tehranOffset } from '../../../../events/tehran-time.ts';
import type { Language } from '../language/language.ts';

/** Days are numbers since 1970-01-01, as in events/tehran-time.ts; instants are ms. */
const DAY = 86_400_000;

const JALALI_MONTHS = [
  ...['فروردین', 'اردیبهشت', 'خرداد', 'تیر', 'مرداد', 'شهریور'],
  ...['مهر', 'آبان', 'آذر', 'دی', 'بهمن', 'اسفند'],
];
const PERSIAN_WEEKDAYS = [
  ...['یکشنبه', 'دوشنبه', 'سه‌شنبه', 'چهارشنبه', 'پنجشنبه', 'جمعه', 'شنبه'],
];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
const WEEKDAYS = [
  ...['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'],
];

/** The parts of a day's date, in the calendar of the language: Jalali in Persian. */
interface DateParts {
  year: number;
  /** From 1. */
  month: number;
  day: number;
  monthName: string;
  weekday: string;
}

export function partsOfDay(day: number, language: Language): DateParts {
  // 1970-01-01 was a Thursday.
  const weekday = (((day + 4) % 7) + 7) % 7;
  if (language === 'fa') {
    const date = jalaliOfDay(day);
    const monthName = JALALI_MONTHS[date.month - 1] ?? '';
    return { ...date, monthName, weekday: PERSIAN_WEEKDAYS[weekday] ?? '' };
  }
  const [year = 0, month = 1, date = 1] = dayText(day).split('-').map(Number);
  const monthName = MONTHS[month - 1] ?? '';
  return { year, month, day: date, monthName, weekday: WEEKDAYS[weekday] ?? '' };
}

export function persianDigits(text: string): string {
  return text.replaceAll(/\d/g, (digit) => String.fromCharCode(0x06f0 + Number(digit)));
}

/** How dates of one language are written. All times are those of Tehran. */
export interface DateFormat {
  /** Digits as the language writes them; for text that holds a number already. */
  digits: (text: string) => string;
  /** «یکشنبه ۱ آذر ۱۴۰۵», "Sunday 22 November 2026". */
  fullDay: (day: number) => string;
  /** «۱ آذر ۱۴۰۵». */
  day: (day: number) => string;
  /** «۱ آذر»: within a year. */
  shortDay: (day: number) => string;
  /** «آذر ۱۴۰۵». */
  month: (day: number) => string;
  /** «۱ آذر ۱۴۰۵، ۱۴:۰۵». */
  dateTime: (instant: number) => string;
  /** «۱۴:۰۵»; `seconds`: «۱۴:۰۵:۰۹». */
  time: (instant: number, precision?: 'minutes' | 'seconds') => string;
}

export function dateFormat(language: Language): DateFormat {
  const digits = language === 'fa' ? persianDigits : (text: string) => text;
  const comma = language === 'fa' ? '،' : ',';
  const day: DateFormat['day'] = (number) => {
    const { year, monthName, day: date } = partsOfDay(number, language);
    return digits(`${date} ${monthName} ${year}`);
  };
  const time: DateFormat['time'] = (instant, precision = 'minutes') => {
    const local = new Date(instant + tehranOffset(instant)).toISOString();
    return digits(local.slice(11, precision === 'seconds' ? 19 : 16));
  };
  return {
    ...{ digits, day, time },
    fullDay: (number) => `${partsOfDay(number, language).weekday} ${day(number)}`,
    shortDay: (number) => {
      const { monthName, day: date } = partsOfDay(number, language);
      return digits(`${date} ${monthName}`);
    },
    month: (number) => {
      const { monthName, year } = partsOfDay(number, language);
      return digits(`${monthName} ${year}`);
    },
    // In a narrow column it breaks before the time and nowhere else.
    dateTime: (instant) =>
      `${day(tehranDay(instant)).replaceAll(' ', '\u00a0')}${comma} ${time(instant)}`,
  };
}

/** Day number of `2026-11-23`. */
export function dayOfText(text: string): number {
  return Math.floor(Date.parse(`${text.slice(0, 10)}T00:00:00Z`) / DAY);
}
