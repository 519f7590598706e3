import { isPlatformEvent } from '../../events/event-name.ts';
import { isProfileColumn } from '../../events/traits.ts';
import type { EventRow } from '../../schemas/records.ts';
import {
  fromMaps,
  matchesTest,
  matchesFilter,
  type PersonTraits,
  type StoredValue,
} from '../conditions/predicate.ts';
import { dayOf } from '../conditions/time-zone.ts';
import { ACTIVE_MS, NEW_MS, SLIPPING_MS } from '../attribute-sql.ts';
import type { AttributeName, BandName, MetricName } from '../attributes.ts';
import type { Audience, EventCondition } from '../definition.ts';

const DAY = 86_400_000;
const TEHRAN = 'Asia/Tehran';

/** A person as the view `people` has one; times in ms since the epoch. */
export interface PersonRow extends PersonTraits {
  first_seen: number;
  last_seen: number;
  total_revenue: number;
  order_count: number;
  last_order_at: number | undefined;
}

/** A person with all events of all names, and the instant of the question. */
export interface Candidate {
  person: PersonRow;
  events: readonly EventRow[];
  /** A device under any of their names is registered for push. */
  hasPush: boolean;
  now: number;
}

/**
 * Whether a person is in an audience: the reference that the SQL is held against. Plain, and slow.
 */
export function isInAudience(audience: Audience, candidate: Candidate): boolean {
  switch (audience.kind) {
    case 'all':
      return audience.of.every((one) => isInAudience(one, candidate));
    case 'any':
      return audience.of.some((one) => isInAudience(one, candidate));
    case 'not':
      return !isInAudience(audience.of, candidate);
    case 'trait':
      return matchesTest(audience.test, traitOf(audience.name, candidate.person));
    case 'attribute':
      return matchesTest(audience.test, attributeOf(audience.name, candidate));
    case 'metric':
      return matchesTest(audience.test, {
        text: undefined,
        number: metricOf(audience.name, candidate),
      });
    case 'band': {
      const { first_seen: firstSeen, last_seen: lastSeen } = candidate.person;
      return (
        (bandOf({ firstSeen, lastSeen, now: candidate.now }) === audience.name) === audience.is
      );
    }
    case 'event':
      return did(audience, candidate) === audience.did;
  }
}

function traitOf(name: string, person: PersonRow): StoredValue | undefined {
  if (!isProfileColumn(name)) return fromMaps(name, person.traits, person.trait_numbers);
  const text = person.columns[name] ?? '';
  return text === '' ? undefined : { text, number: undefined };
}

function attributeOf(
  name: AttributeName,
  { person, hasPush, now }: Candidate,
): StoredValue | undefined {
  if (isProfileColumn(name)) return traitOf(name, person);
  switch (name) {
    case 'total_revenue':
    case 'order_count':
    case 'first_seen':
      return number(person[name]);
    case 'last_order_at':
      return person.last_order_at === undefined ? undefined : number(person.last_order_at);
    case 'days_since_last_seen':
      return number(Math.max(0, dayOf(now, TEHRAN) - dayOf(person.last_seen, TEHRAN)));
    case 'days_until_birthday':
      return daysUntilBirthday(person.columns['birthday'] ?? '', dayOf(now, TEHRAN));
    case 'has_push':
      return {
        text: String(hasPush),
        number: undefined,
      };
  }
}

/** `today` in days since 1970-01-01. */
function daysUntilBirthday(text: string, today: number): StoredValue | undefined {
  const [, date, year = 0, month = 0, day = 0] =
    /^((\d{4})-(\d{2})-(\d{2}))(?:$|[T ])/
      .exec(text)
      ?.map((part, at) => (at < 2 ? part : Number(part))) ?? [];
  const born = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date === undefined || Number(year) < 1900 || born.toISOString().slice(0, 10) !== date)
    return undefined;
  const thisYear = new Date(today * DAY).getUTCFullYear();
  const days = [thisYear, thisYear + 1].map(
    (one) => birthdayIn(one, { month: Number(month), day: Number(day) }) - today,
  );
  return number(days.find((one) => one >= 0) ?? 0);
}

function birthdayIn(year: number, { month, day }: { month: number; day: number }): number {
  const date = new Date(Date.UTC(year, month - 1, day));
  // The 29th of February rolled over into March.
  if (date.getUTCMonth() !== month - 1) date.setUTCDate(0);
  return date.getTime() / DAY;
}

function metricOf(name: MetricName, { events, now }: Candidate): number {
  const last = (days: number) =>
    events.filter((event) => !event.is_bot && event.timestamp >= now - days * DAY);
  const active = (days: number) => last(days).filter((event) => !isPlatformEvent(event.event));
  const isReversal = (event: EventRow) =>
    event.event === 'order_refunded' || event.event === 'order_cancelled';
  switch (name) {
    case 'events_7d':
      return active(7).length;
    case 'events_30d':
      return active(30).length;
    case 'sessions_30d':
      return new Set(last(30).flatMap((event) => event.session_id || [])).size;
    case 'active_days_30d':
      return new Set(active(30).map((event) => dayOf(event.timestamp, TEHRAN))).size;
    case 'orders_90d': {
      const orders = last(90).filter((event) => event.event === 'order_completed').length;
      return Math.max(0, orders - last(90).filter(isReversal).length);
    }
    case 'revenue_90d':
      return Math.max(
        0,
        last(90).reduce(
          (sum, event) => sum + (isReversal(event) ? -Math.abs(event.revenue) : event.revenue),
          0,
        ),
      );
  }
}

function did(
  { event, times, withinDays, where }: EventCondition,
  { events, now }: Candidate,
): boolean {
  const matching = events.filter(
    (one) =>
      one.event === event &&
      !one.is_bot &&
      (withinDays === undefined || one.timestamp >= now - withinDays * DAY) &&
      where.every((filter) => matchesFilter(filter, { event: one, person: undefined })),
  );
  return matchesTest(times, { text: undefined, number: matching.length });
}

function number(value: number): StoredValue {
  return { text: undefined, number: value };
}

/** The band of a person; times in ms since the epoch. */
function bandOf({
  firstSeen,
  lastSeen,
  now,
}: {
  firstSeen: number;
  lastSeen: number;
  now: number;
}): BandName {
  if (firstSeen > now - NEW_MS) return 'new';
  if (lastSeen > now - ACTIVE_MS) return 'active';
  return lastSeen > now - SLIPPING_MS ? 'slipping' : 'dormant';
}
