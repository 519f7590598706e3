import type { CalendarName } from './calendar.ts';

export type Frequency = 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY';

/** What becomes of a day that a month does not have (RFC 7529, section 4). */
export type Skip = 'OMIT' | 'BACKWARD' | 'FORWARD';

/** `2MO` is `{weekday: 1, ordinal: 2}`; ordinal 0: every one. Weekday 0 is Sunday. */
export interface ByDay {
  weekday: number;
  ordinal: number;
}

/** The last moment of a rule: an instant, or a local date-time without zone. */
export type Until =
  | { kind: 'instant'; at: number }
  /** Wall-clock time, as ms since 1970-01-01T00:00 of the same clock; inclusive. */
  | { kind: 'local'; at: number };

/** A recurrence rule of RFC 5545 and RFC 7529; lists are sorted, empty when the part is absent. */
export interface Rule {
  frequency: Frequency;
  interval: number;
  count: number | undefined;
  until: Until | undefined;
  calendar: CalendarName;
  skip: Skip;
  /** The first day of a week, 0 is Sunday. */
  weekStart: number;
  byDay: readonly ByDay[];
  /** 1 to 31, or -1 (the last day) to -31. */
  byMonthDay: readonly number[];
  byMonth: readonly number[];
  byHour: readonly number[];
  byMinute: readonly number[];
}
