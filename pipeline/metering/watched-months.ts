import { quotaMonth, type QuotaMonth } from '../../events/tehran-time.ts';

/** The previous month is metered this long after its end, ms: over one meter interval. */
const GRACE_PERIOD = 2 * 3_600_000;

/** Months to meter: the current one and, shortly after its start, the previous one. */
export function watchedMonths(now: number): QuotaMonth[] {
  const month = quotaMonth(now);
  return now - month.from < GRACE_PERIOD ? [quotaMonth(month.from - 1), month] : [month];
}
