import { quotaMonth, startOfTehranDay, tehranDay } from '../../events/tehran-time.ts';
import { answer, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from '../routes/route.ts';

const MINUTE = 60_000;
/** Minutes of the live chart. */
const MINUTES = 60;
/** Minutes of today that are read at most: all of them. */
const DAY_MINUTES = 24 * 60;

/**
 * GET /v1/overview: events a minute of the last hour, of today in Tehran, the books, the use of the
 * Jalali month, and until when all events are in the reports. Cheap: the panel asks for it every
 * few seconds.
 */
export async function getOverview(
  { caller, now, trace }: MemberRequest,
  { books, freshness, log, readBooks, usage }: Services,
): Promise<Answer> {
  const accountId = caller.account.id;
  const today = startOfTehranDay(tehranDay(now));
  const first = Math.floor(now / MINUTE) * MINUTE - (MINUTES - 1) * MINUTE;
  const from = Math.max(Math.min(today, first), now - DAY_MINUTES * MINUTE);
  const [minutes, totals, used, freshUntil] = await Promise.all([
    books.since(accountId, from),
    readBooks(accountId),
    usage.read(accountId),
    freshness.freshUntil(['events', 'identities', 'profiles']).catch((error: unknown) => {
      log.warn({ err: error, code: 'freshness_unknown', trace }, 'the overview has no freshness');
      return undefined;
    }),
  ]);
  const ofToday = minutes.filter(({ minute }) => Date.parse(minute) >= today);
  const { key: month } = quotaMonth(now);
  const thisMonth = used.months.find((one) => one.month === month);
  const sum = (field: 'accepted' | 'rejected') =>
    ofToday.reduce((total, one) => total + one[field], 0);
  return answer({
    now: new Date(now).toISOString(),
    fresh_until: freshUntil === undefined ? null : new Date(freshUntil).toISOString(),
    minutes: minutes.filter(({ minute }) => Date.parse(minute) >= first),
    today: { accepted: sum('accepted'), rejected: sum('rejected') },
    books: totals,
    month: { key: month, events: 0, profiles: 0, profiles_counted_at: null, ...thisMonth },
    announcements: used.announcements.filter((one) => one.month === month),
  });
}

/**
 * GET /v1/start: what an account has done on the way from its write key to its first report, and
 * where it sends events.
 */
export async function getStart(
  { caller }: MemberRequest,
  { startStore, ingestUrl }: Services,
): Promise<Answer> {
  const steps = await startStore.read(caller.account.id);
  return answer({ ...steps, ingest_url: ingestUrl });
}
