import { quotaMonth, type QuotaMonth } from '../../events/tehran-time.ts';

/**
 * What happened in the last moments of a month is counted for this long behind it, ms: longer than
 * the profile meter's figure may be old.
 */
const AFTERWARDS = 2 * 3_600_000;

/**
 * The months whose meters are looked at now: the present one and, soon after its beginning, the one
 * before.
 */
export function watchedMonths(now: number): QuotaMonth[] {
  const month = quotaMonth(now);
  return now - month.from < AFTERWARDS ? [quotaMonth(month.from - 1), month] : [month];
}
