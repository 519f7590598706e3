const DAY = 86_400_000;
const HALF_DAY = DAY / 2;

/** By the name that the runtime gives the zone; their number is that of its zones. */
const formats = new Map<string, Intl.DateTimeFormat>();
/**
 * The formats by the lower-case spellings that clients sent. A zone has a few spellings (Iran is
 * Asia/Tehran); the runtime ignores case and knows some 600, so the map is finite.
 */
const spelled = new Map<string, Intl.DateTimeFormat>();

/** Throws a RangeError for an unknown zone, of which nothing is kept. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const spelling = timeZone.toLowerCase();
  const known = spelled.get(spelling);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    ...{
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    },
    era: 'short',
  });
  const name = made.resolvedOptions().timeZone;
  const format = formats.get(name) ?? made;
  formats.set(name, format);
  spelled.set(spelling, format);
  return format;
}

/** How many zones are cached, each about 56 KB, and under how many spellings. */
export function cachedTimeZones(): { zones: number; spellings: number } {
  return { zones: formats.size, spellings: spelled.size };
}

/** No name of the IANA database is longer. */
const MAX_NAME = 64;

/**
 * True for an IANA time zone that this runtime knows; offsets such as +03:30 are not names.
 */
export function isTimeZone(name: string): boolean {
  if (name.length > MAX_NAME || !/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * The local date and time of the zone at an instant, as the epoch milliseconds of the same date and
 * time in UTC.
 */
export function wallClock(instant: number, timeZone: string): number {
  const parts = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 };
  let sign = 1;
  for (const { type, value } of formatOf(timeZone).formatToParts(instant)) {
    if (type === 'era') sign = value === 'AD' ? 1 : -1;
    else if (type in parts) parts[type as keyof typeof parts] = Number(value);
  }
  const { year, month, day, hour, minute, second } = parts;
  const clock = new Date(0);
  clock.setUTCFullYear(sign > 0 ? year : 1 - year, month - 1, day);
  clock.setUTCHours(hour, minute, second, ((instant % 1000) + 1000) % 1000);
  return clock.getTime();
}

/** Days since 1970-01-01 of the zone's calendar date at an instant. */
export function dayOf(instant: number, timeZone: string): number {
  return Math.floor(wallClock(instant, timeZone) / DAY);
}

/**
 * The first instant of a calendar day of the zone (days since 1970-01-01), epoch milliseconds.
 * Where a clock change skips midnight, the day begins at the change; where midnight occurs twice,
 * at the first one.
 */
export function startOfDay(day: number, timeZone: string): number {
  const midnight = day * DAY;
  const offsets = [midnight - DAY, midnight + DAY].map(
    (around) => wallClock(around, timeZone) - around,
  );
  const candidates = offsets.map((offset) => midnight - offset).sort((a, b) => a - b);
  const exact = candidates.find((candidate) => wallClock(candidate, timeZone) === midnight);
  if (exact !== undefined) return exact;
  let before = midnight - DAY - HALF_DAY;
  let after = midnight + DAY + HALF_DAY;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (dayOf(middle, timeZone) >= day) after = middle;
    else before = middle;
  }
  return after;
}
