import { dayOfJalali, jalaliOfDay } from '../../../../events/jalali.ts';
import { dayText } from '../../../../events/tehran-time.ts';
import { dayOfText } from '../format/dates.ts';

/** Ranges that move with today: a link with one shows the newest days whenever it is opened. */
export const PRESETS = ['7d', '30d', '90d', 'this-month', 'last-month'] as const;
export type Preset = (typeof PRESETS)[number];

/** A preset, or two days `2026-11-01..2026-11-23`, both included. */
export type RangeText = Preset | `${string}..${string}`;

/** Days of a range as numbers; `to` is the day after the last one, as reports count. */
export interface DayRange {
  from: number;
  to: number;
}

export const DEFAULT_RANGE: RangeText = '30d';

/** Maximum of the report routes (management 8.3). */
const MAX_DAYS = 730;

/** The range of a URL, or the default for anything that is none. */
export function readRange(value: unknown): RangeText {
  const preset = PRESETS.find((one) => one === value);
  if (preset) return preset;
  const days = typeof value === 'string' ? daysIn(value) : undefined;
  return days ? textOf(days) : DEFAULT_RANGE;
}

function daysIn(text: string): DayRange | undefined {
  const match = /^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$/.exec(text);
  if (!match) return undefined;
  const [from, last] = [dayOfText(match[1] ?? ''), dayOfText(match[2] ?? '')];
  const isValid = last >= from && last - from < MAX_DAYS;
  return isValid ? { from, to: last + 1 } : undefined;
}

/** The text of fixed days. */
export function textOf({ from, to }: DayRange): RangeText {
  return `${dayText(from)}..${dayText(to - 1)}`;
}

/** The days of a range; months are Jalali. */
export function daysOf(range: RangeText, today: number): DayRange {
  const { year, month } = jalaliOfDay(today);
  const monthStart = dayOfJalali({ year, month, day: 1 });
  switch (range) {
    case '7d':
      return { from: today - 6, to: today + 1 };
    case '30d':
      return { from: today - 29, to: today + 1 };
    case '90d':
      return { from: today - 89, to: today + 1 };
    case 'this-month':
      return { from: monthStart, to: today + 1 };
    case 'last-month':
      return { from: dayOfJalali({ year, month: month - 1, day: 1 }), to: monthStart };
    default:
      return daysIn(range) ?? daysOf(DEFAULT_RANGE, today);
  }
}

/** `from` and `to` of a report's request. */
export function requestRange(range: RangeText, today: number): { from: string; to: string } {
  const { from, to } = daysOf(range, today);
  return { from: dayText(from), to: dayText(to) };
}
