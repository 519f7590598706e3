import Type from 'typebox';
import { readInstant } from '../../audiences/conditions/read-test.ts';
import { isTimeZone, wallClock } from '../../audiences/conditions/time-zone.ts';
import type { BodyRules } from '../http/check-body.ts';
import { reject } from './report-problem.ts';

const DAY = 86_400_000;
/** Maximum range of a report (management 8.3), ms. */
const MAX_RANGE = 730 * DAY;
const DEFAULT_TIME_ZONE = 'Asia/Tehran';

export interface ReportRange {
  /** Epoch milliseconds: from ≤ timestamp < to. */
  from: number;
  to: number;
  timeZone: string;
}

const Instant = Type.String({
  description: 'RFC 3339, or YYYY-MM-DD: the start of that day in the time zone of the report',
});

/** The range of a report (reports: Shared by both reports). */
export const RANGE = {
  timezone: Type.Optional(Type.String({ description: `IANA name; default ${DEFAULT_TIME_ZONE}` })),
  from: Instant,
  to: Instant,
};

interface SentRange {
  timezone?: string;
  from: string;
  to: string;
}

export function rangeRules(body: unknown): NonNullable<BodyRules['after']> {
  const sent = body as SentRange;
  const instant = (value: unknown, path: string): void => {
    if (Number.isNaN(readInstant(String(value), timeZoneOf(sent)))) reject('range', path);
  };
  return {
    timezone(value) {
      if (typeof value === 'string' && value !== '' && !isTimeZone(value)) reject('time_zone');
    },
    from: instant,
    to(value, path) {
      instant(value, path);
      const { from, to, timeZone } = readRange(sent);
      if (from >= to) reject('range');
      const local = wallClock(to, timeZone) - wallClock(from, timeZone);
      // 730 days of a zone can be an hour longer than 730 times 24 hours
      if (Math.min(to - from, local) > MAX_RANGE) reject('range_too_long');
    },
  };
}

/** The range of a body that passed the rules. */
export function readRange(sent: SentRange): ReportRange {
  const timeZone = timeZoneOf(sent);
  return { from: readInstant(sent.from, timeZone), to: readInstant(sent.to, timeZone), timeZone };
}

function timeZoneOf({ timezone }: Pick<SentRange, 'timezone'>): string {
  return timezone ? timezone : DEFAULT_TIME_ZONE;
}
