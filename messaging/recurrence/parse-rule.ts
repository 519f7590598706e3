import type { CalendarName } from './calendar.ts';
import type { ByDay, Frequency, Rule, Skip } from './rule.ts';
import { parseUntil } from './parse-until.ts';
import { choice, numbers, positive, UnreadableRule } from './rule-values.ts';

export type ParsedRule = { ok: true; rule: Rule } | { ok: false; message: string };

const MAX_LENGTH = 1000;
const MAX_INTERVAL = 1000;
/** All instances before the asked ones are counted: this bounds the time that it takes. */
const MAX_COUNT = 10_000;

const FREQUENCIES: readonly Frequency[] = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'];
const CALENDAR_NAMES: readonly CalendarName[] = ['GREGORIAN', 'PERSIAN'];
const SKIPS: readonly Skip[] = ['OMIT', 'BACKWARD', 'FORWARD'];
const WEEKDAYS: readonly string[] = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const MONDAY = 1;

const PARTS: ReadonlySet<string> = new Set([
  'FREQ',
  'INTERVAL',
  'COUNT',
  'UNTIL',
  'RSCALE',
  'SKIP',
  'WKST',
  'BYDAY',
  'BYMONTHDAY',
  'BYMONTH',
  'BYHOUR',
  'BYMINUTE',
]);

/** Parts of RFC 5545 that are refused, and what does the same. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  BYSECOND: 'Leave it out: instances keep the second of starts_at',
  BYYEARDAY: 'Use BYMONTH with BYMONTHDAY',
  BYWEEKNO: 'Use BYMONTH, or BYDAY with FREQ=WEEKLY and INTERVAL',
  BYSETPOS:
    'Use an ordinal in BYDAY, such as BYDAY=-1FR for the last Friday, or a negative BYMONTHDAY',
};

/**
 * Parses a recurrence rule: RFC 5545 with FREQ, INTERVAL, COUNT, UNTIL, WKST, BYDAY, BYMONTHDAY,
 * BYMONTH, BYHOUR, BYMINUTE, and RSCALE and SKIP of RFC 7529. With RSCALE, SKIP is BACKWARD by
 * default (docs/messages.md, Recurrence), not OMIT as in the RFC: "the 31st" is the last day of a
 * shorter month. The message of a refusal says what to change.
 */
export function parseRule(text: string): ParsedRule {
  try {
    return { ok: true, rule: ruleOf(partsOf(text)) };
  } catch (error) {
    if (error instanceof UnreadableRule) return { ok: false, message: error.message };
    throw error;
  }
}

function partsOf(text: string): ReadonlyMap<string, string> {
  if (text.length > MAX_LENGTH)
    throw new UnreadableRule(
      `The rule has ${text.length} characters: at most ${MAX_LENGTH} are allowed.`,
    );
  const parts = new Map<string, string>();
  for (const part of text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .split(';')) {
    const [name = '', value = '', ...more] = part.split('=');
    if (name === '' || value === '' || more.length > 0)
      throw new UnreadableRule(
        `The part "${part}" cannot be read: write NAME=VALUE, with one ";" between two parts, as in FREQ=MONTHLY;BYMONTHDAY=1.`,
      );
    const instead = UNSUPPORTED[name];
    if (instead) throw new UnreadableRule(`${name} is not supported. ${instead}.`);
    if (!PARTS.has(name))
      throw new UnreadableRule(`${name} is not a known part. Use ${[...PARTS].join(', ')}.`);
    if (parts.has(name))
      throw new UnreadableRule(`${name} occurs twice: write it once, with "," between its values.`);
    parts.set(name, value);
  }
  return parts;
}

function ruleOf(parts: ReadonlyMap<string, string>): Rule {
  const frequency = choice(parts, 'FREQ', FREQUENCIES);
  if (!frequency)
    throw new UnreadableRule('FREQ is missing: begin with FREQ=DAILY, WEEKLY, MONTHLY or YEARLY.');
  const calendar = choice(parts, 'RSCALE', CALENDAR_NAMES);
  const skip = choice(parts, 'SKIP', SKIPS);
  if (skip && !calendar)
    throw new UnreadableRule(
      'SKIP needs RSCALE: add RSCALE=PERSIAN or RSCALE=GREGORIAN, or remove SKIP.',
    );
  if (parts.has('COUNT') && parts.has('UNTIL'))
    throw new UnreadableRule('COUNT and UNTIL both end the rule: remove one of them.');
  const until = parts.get('UNTIL');
  const rule: Rule = {
    frequency,
    interval: positive(parts, 'INTERVAL', MAX_INTERVAL) ?? 1,
    count: positive(parts, 'COUNT', MAX_COUNT),
    until: until === undefined ? undefined : parseUntil(until),
    calendar: calendar ?? 'GREGORIAN',
    skip: skip ?? (calendar ? 'BACKWARD' : 'OMIT'),
    weekStart: weekStartOf(parts),
    byDay: (parts.get('BYDAY')?.split(',') ?? []).map(byDayOf),
    byMonthDay: numbers(parts, { name: 'BYMONTHDAY', from: 1, to: 31, signed: true }),
    byMonth: numbers(parts, { name: 'BYMONTH', from: 1, to: 12 }),
    byHour: numbers(parts, { name: 'BYHOUR', from: 0, to: 23 }),
    byMinute: numbers(parts, { name: 'BYMINUTE', from: 0, to: 59 }),
  };
  checkCombination(rule);
  return rule;
}

/** What RFC 5545 forbids together, and what can never be. */
function checkCombination(rule: Rule): void {
  const { frequency, byDay, byMonth, byMonthDay } = rule;
  if (frequency === 'WEEKLY' && byMonthDay.length > 0)
    throw new UnreadableRule(
      'BYMONTHDAY cannot be used with FREQ=WEEKLY: use FREQ=MONTHLY, or BYDAY.',
    );
  const largest = Math.max(0, ...byDay.map(({ ordinal }) => Math.abs(ordinal)));
  if (largest === 0) return;
  if (frequency === 'DAILY' || frequency === 'WEEKLY')
    throw new UnreadableRule(
      `A number in BYDAY needs FREQ=MONTHLY or FREQ=YEARLY: remove the number, or change FREQ=${frequency}.`,
    );
  const isOfMonth = frequency === 'MONTHLY' || byMonth.length > 0;
  if (isOfMonth && largest > 5)
    throw new UnreadableRule(
      `BYDAY: a month has no weekday number ${largest}. Give 1 to 5, or -1 (the last one) to -5.`,
    );
}

function weekStartOf(parts: ReadonlyMap<string, string>): number {
  const text = choice(parts, 'WKST', WEEKDAYS);
  return text === undefined ? MONDAY : WEEKDAYS.indexOf(text);
}

function byDayOf(text: string): ByDay {
  const [, number, name = ''] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(text) ?? [];
  const weekday = WEEKDAYS.indexOf(name);
  const ordinal = Number(number ?? 0);
  const isOrdinal = number === undefined || (ordinal !== 0 && Math.abs(ordinal) <= 53);
  if (weekday < 0 || !isOrdinal)
    throw new UnreadableRule(
      `BYDAY: "${text}" cannot be read. Give SU, MO, TU, WE, TH, FR or SA, with a number such as 2MO (the second Monday) or -1FR (the last Friday) where needed.`,
    );
  return { weekday, ordinal };
}
