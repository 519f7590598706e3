import { periodsOf } from './days-of-period.ts';
import { LocalClock } from './local-clock.ts';
import type { Rule } from './rule.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A rule without an instance for so long has none any more: this bounds the search. */
const MAX_QUIET_DAYS = 36_525;
/** 9999-12-31: the last day that RFC 3339 can write. */
const LAST_DAY = 2_932_896;

export const DEFAULT_TIME_ZONE = 'Asia/Tehran';

export interface InstancesOptions {
  /** The rule's DTSTART, Unix ms: its time of day and its date complete the rule. */
  startsAt: number;
  /** @throws RangeError when it is unknown (local-clock.ts, isTimeZone) */
  timeZone?: string;
  /** Only instances later than this, Unix ms. */
  after?: number;
}

/**
 * Instances of a rule at or after `startsAt`, Unix ms, ascending. Lazy: computes the next one when
 * it is asked for. `startsAt` itself is an instance only when it matches the rule. Each instance is
 * counted from `startsAt`, never from the one before: 31 Shahrivar is followed by 30 Mehr, and a
 * year later by 31 Shahrivar again. Ends after COUNT or UNTIL, after 100 years without an instance,
 * and with the year 9999.
 */
export function* instances(
  rule: Rule,
  { startsAt, timeZone = DEFAULT_TIME_ZONE, after = -Infinity }: InstancesOptions,
): Generator<number, void> {
  const clock = new LocalClock(timeZone);
  const startLocal = clock.localOf(startsAt);
  const dayOf = (instant: number) => Math.floor(clock.localOf(instant) / DAY_MS);
  const times = timesOf(rule, startLocal - Math.floor(startLocal / DAY_MS) * DAY_MS);
  const periods = periodsOf(rule, Math.floor(startLocal / DAY_MS));
  const isPastEnd = ({ local, at }: LocalInstant) =>
    rule.until !== undefined && (rule.until.kind === 'local' ? local : at) > rule.until.at;

  const from = Math.max(startsAt, after);
  // With COUNT the instances before `after` must be counted. One period earlier: SKIP moves days.
  const first = rule.count === undefined ? Math.max(0, periods.indexOf(dayOf(from)) - 1) : 0;
  let quietUntil = dayOf(rule.count === undefined ? from : startsAt) + MAX_QUIET_DAYS;
  let last = startsAt - 1;
  let count = 0;
  for (let index = first; periods.firstDay(index) <= Math.min(quietUntil, LAST_DAY); index++) {
    for (const day of periods.days(index)) {
      for (const instant of instantsOf(day, { times, clock })) {
        // Equal ones come from SKIP and from clocks that are set forward.
        if (instant.at <= last) continue;
        if (isPastEnd(instant)) return;
        last = instant.at;
        quietUntil = Math.max(quietUntil, day + MAX_QUIET_DAYS);
        count++;
        if (instant.at > after) yield instant.at;
        if (count === rule.count) return;
      }
    }
  }
}

interface LocalInstant {
  local: number;
  at: number;
}

/** Times of day, ms, ascending; parts that are absent are those of the start. */
function timesOf(rule: Rule, startTime: number): number[] {
  const hour = Math.floor(startTime / HOUR_MS);
  const minute = Math.floor((startTime % HOUR_MS) / MINUTE_MS);
  const hours = rule.byHour.length > 0 ? rule.byHour : [hour];
  const minutes = rule.byMinute.length > 0 ? rule.byMinute : [minute];
  const rest = startTime % MINUTE_MS;
  return hours.flatMap((h) => minutes.map((m) => h * HOUR_MS + m * MINUTE_MS + rest));
}

function instantsOf(
  day: number,
  { times, clock }: { times: readonly number[]; clock: LocalClock },
): LocalInstant[] {
  return times
    .map((time) => ({ local: day * DAY_MS + time, at: clock.instantOf(day * DAY_MS + time) }))
    .sort((one, other) => one.at - other.at);
}
