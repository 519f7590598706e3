import { parseRfc3339 } from '../../events/rfc3339.ts';
import { reject } from './report-problem.ts';
import type { JsonFields } from './request-reader.ts';
import { isTimeZone, startOfDay, wallClock } from '../conditions/time-zone.ts';

const DAY = 86_400_000;
/** Longest range of a report in days (management 8.3). */
const MAX_RANGE = 730 * DAY;
const DEFAULT_TIME_ZONE = 'Asia/Tehran';

export interface ReportRange {
  /** Epoch milliseconds: from ≤ timestamp < to. */
  from: number;
  to: number;
  timeZone: string;
}

/** from, to and timezone of a report (reports.md, "Shared by both reports"). */
export function readRange(body: JsonFields): ReportRange {
  const timeZone = readTimeZone(body['timezone']);
  const from = readInstant(body['from'], timeZone, 'from');
  const to = readInstant(body['to'], timeZone, 'to');
  if (from >= to) return reject('range');
  const onTheWall = wallClock(to, timeZone) - wallClock(from, timeZone);
  // 730 days of a zone can be an hour longer than 730 times 24 hours
  return Math.min(to - from, onTheWall) > MAX_RANGE
    ? reject('range_too_long')
    : { from, to, timeZone };
}

function readTimeZone(value: unknown): string {
  if (value === undefined || value === null || value === '') return DEFAULT_TIME_ZONE;
  return typeof value === 'string' && isTimeZone(value) ? value : reject('time_zone');
}

function readInstant(value: unknown, timeZone: string, path: string): number {
  if (typeof value !== 'string') return reject('range', path);
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(value);
  // the parser of instants also judges dates, so that 30 February is refused in both forms
  const instant = parseRfc3339(isDate ? `${value}T00:00:00Z` : value);
  if (Number.isNaN(instant)) return reject('range', path);
  return isDate ? startOfDay(instant / DAY, timeZone) : instant;
}
