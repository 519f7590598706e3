import { dayOfJalali, jalaliOfDay } from '../../events/jalali.ts';
import { persianDigits } from '../../events/persian-digits.ts';
import { tehranOffset } from '../../events/tehran-time.ts';
import { textOf } from './output-text.ts';

const DAY_MS = 86_400_000;
/** `2 آذر 1405`, in Persian digits. */
const DEFAULT_FORMAT = '%-d %B %Y';
/** Numbers from here on (1973) are ms since the epoch, smaller ones (up to 5138) seconds. */
const MIN_MS = 1e11;
/** 1 January of the years 0 and 10000, ms: what is outside is no date. */
const RANGE = [-62_167_219_200_000, 253_402_300_800_000] as const;

const MONTHS = [
  ...['فروردین', 'اردیبهشت', 'خرداد', 'تیر', 'مرداد', 'شهریور'],
  ...['مهر', 'آبان', 'آذر', 'دی', 'بهمن', 'اسفند'],
];
/** From the day of 1970-01-01 on. */
const WEEKDAYS = ['پنجشنبه', 'جمعه', 'شنبه', 'یکشنبه', 'دوشنبه', 'سه‌شنبه', 'چهارشنبه'];

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?$/;

/**
 * The Liquid filter `jalali`: a time in the calendar of Iran, in Tehran's time and Persian digits.
 * It reads ISO 8601 (without an offset it is Tehran's time), seconds or ms since the epoch, and
 * `now`. Anything else stays as it is.
 * @param format the directives of the filter `date`; undefined: `%-d %B %Y`
 * @param now ms since the epoch
 */
export function jalaliFilter(value: unknown, format: unknown, now: number): unknown {
  const local = tehranTimeOf(textOf(value).trim(), now);
  if (local === undefined) return value;
  const pattern = format === undefined || format === null ? DEFAULT_FORMAT : textOf(format);
  return pattern.replace(/%(-?)([A-Za-z%])/g, (directive, dash: string, name: string) => {
    const text = directiveText(name, local, { isPadded: dash === '' });
    return text === undefined ? directive : persianDigits(text);
  });
}

/** The wall clock of Tehran as ms since its 1970-01-01T00:00. */
function tehranTimeOf(text: string, now: number): number | undefined {
  const local = localOf(text, now);
  return local !== undefined && local >= RANGE[0] && local < RANGE[1] ? local : undefined;
}

function localOf(text: string, now: number): number | undefined {
  if (text === 'now') return now + tehranOffset(now);
  if (/^-?\d{1,16}(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    const instant = Math.abs(number) < MIN_MS ? number * 1000 : number;
    return instant + tehranOffset(instant);
  }
  const match = ISO.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', utc, sign, hours, minutes] =
    match;
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as Six;
  const midnight = Date.UTC(y, mo - 1, d);
  const isDate =
    new Date(midnight).getUTCDate() === d && new Date(midnight).getUTCMonth() === mo - 1;
  if (!isDate || h > 23 || mi > 59 || s > 59) return undefined;
  const written = midnight + ((h * 60 + mi) * 60 + s) * 1000;
  if (utc === undefined && sign === undefined) return written;
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  const instant = written - (sign === '-' ? -offset : offset);
  return instant + tehranOffset(instant);
}

type Six = [number, number, number, number, number, number];

function directiveText(
  name: string,
  local: number,
  { isPadded }: { isPadded: boolean },
): string | undefined {
  const dayNumber = Math.floor(local / DAY_MS);
  const { year, month, day } = jalaliOfDay(dayNumber);
  const time = new Date(local);
  const number = (value: number, digits = 2) =>
    isPadded ? String(value).padStart(digits, '0') : String(value);
  switch (name) {
    case 'Y':
      return String(year);
    case 'y':
      return number(year % 100);
    case 'm':
      return number(month);
    case 'B':
    case 'b':
      return MONTHS[month - 1];
    case 'd':
      return number(day);
    case 'e':
      return String(day);
    case 'j':
      return number(dayNumber - dayOfJalali({ year, month: 1, day: 1 }) + 1, 3);
    case 'A':
    case 'a':
      return WEEKDAYS[((dayNumber % 7) + 7) % 7];
    case 'H':
      return number(time.getUTCHours());
    case 'M':
      return number(time.getUTCMinutes());
    case 'S':
      return number(time.getUTCSeconds());
    case '%':
      return '%';
    default:
      return undefined;
  }
}
