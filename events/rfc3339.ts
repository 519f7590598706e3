const DAY = 86_400_000;

const DAYS_BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const T = 0x54;
const Z = 0x5a;
const DASH = 0x2d;
const COLON = 0x3a;
const DOT = 0x2e;
const PLUS = 0x2b;
const LOWER_CASE = 0x20;

/** Two digits as a number; NaN otherwise. */
function two(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30;
  const ones = text.charCodeAt(at + 1) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

function daysSinceEpoch(year: number, month: number, day: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const inMonth = (DAYS_IN_MONTH[month - 1] ?? 0) + (isLeap && month === 2 ? 1 : 0);
  if (!(day >= 1 && day <= inMonth)) return NaN;
  const before = year - 1;
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  return (
    year * 365 +
    leapDays +
    (DAYS_BEFORE_MONTH[month - 1] ?? NaN) +
    (isLeap && month > 2 ? 1 : 0) +
    day -
    719_528
  );
}

/** Milliseconds of the fraction after the dot, cut to three digits. NaN for a non-digit. */
function fraction(text: string, at: number, end: number): number {
  let value = 0;
  let scale = 100;
  for (let digit = at; digit < end; digit++) {
    const unit = text.charCodeAt(digit) - 0x30;
    if (!(unit >= 0 && unit <= 9)) return NaN;
    value += unit * scale;
    scale = scale === 1 ? 0 : scale / 10;
  }
  return at === end ? NaN : value;
}

/**
 * Parses an RFC 3339 date-time ("2026-03-21T10:00:00.5+03:30") to milliseconds since the epoch; NaN
 * when it is not one. Strict: years 0000 to 9999, existing dates, seconds and offset required,
 * nothing around it. As the RFC allows, `t` and `z` may be lower case, and second 60 counts as the
 * next second where UTC can have a leap second (the last second of a day). Fractions are cut to
 * milliseconds.
 */
export function parseRfc3339(text: string): number {
  const length = text.length;
  if (length < 20 || length > 64) return NaN;
  if (
    text.charCodeAt(4) !== DASH ||
    text.charCodeAt(7) !== DASH ||
    (text.charCodeAt(10) & ~LOWER_CASE) !== T
  )
    return NaN;
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON) return NaN;
  const hour = two(text, 11);
  const minute = two(text, 14);
  const second = two(text, 17);
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return NaN;
  const isUtc = (text.charCodeAt(length - 1) & ~LOWER_CASE) === Z;
  const zone = isUtc ? length - 1 : length - 6;
  const offset = isUtc ? 0 : offsetMinutes(text, zone);
  const milliseconds =
    zone === 19 ? 0 : text.charCodeAt(19) === DOT ? fraction(text, 20, zone) : NaN;
  const minutes =
    daysSinceEpoch(two(text, 0) * 100 + two(text, 2), two(text, 5), two(text, 8)) * 1440 +
    hour * 60 +
    minute -
    offset;
  const time = minutes * 60_000 + second * 1000 + milliseconds;
  if (second === 60 && (((minutes % 1440) + 1440) % 1440) * 60_000 !== DAY - 60_000) return NaN;
  return time;
}

/** Minutes east of UTC of `+hh:mm` or `-hh:mm` at `at`; NaN otherwise. */
function offsetMinutes(text: string, at: number): number {
  const sign = text.charCodeAt(at);
  if ((sign !== PLUS && sign !== DASH) || text.charCodeAt(at + 3) !== COLON) return NaN;
  const hours = two(text, at + 1);
  const minutes = two(text, at + 4);
  if (!(hours <= 23 && minutes <= 59)) return NaN;
  return (sign === PLUS ? 1 : -1) * (hours * 60 + minutes);
}
