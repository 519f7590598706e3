import { wallClock } from '../../../audiences/conditions/time-zone.ts';
import type { ReportRange } from '../range.ts';
import { periodsOf } from '../retention/periods.ts';
import type { PeriodRule } from '../retention/request.ts';

/** What a period is: an hour, or as in retention. */
export interface TrendsRule extends Omit<PeriodRule, 'period'> {
  period: PeriodRule['period'] | 'hour';
}

const HOUR = 3_600_000;
/** More than any request may have. */
const MAX_HOURS = 2000;

/**
 * First instants of the periods of a report, ms since the epoch: the range widened to whole
 * periods. The last entry is only the end of the last period.
 */
export function periodStartsOf({
  range,
  rule,
}: {
  range: ReportRange;
  rule: TrendsRule;
}): number[] {
  const { period, ...rest } = rule;
  return period === 'hour'
    ? hoursOf(range)
    : periodsOf({ range, rule: { period, ...rest }, periods: 1 }).starts;
}

/** Hours of the wall clock: a zone may be half an hour off those of UTC. */
function hoursOf({ from, to, timeZone }: ReportRange): number[] {
  const first = from - (((wallClock(from, timeZone) % HOUR) + HOUR) % HOUR);
  const count = Math.min(MAX_HOURS, Math.ceil((to - first) / HOUR));
  return Array.from({ length: count + 1 }, (_, at) => first + at * HOUR);
}
