import { isProfileColumn } from '../events/traits.ts';
import { traitTargetSql, type TargetSql } from './conditions/condition-sql.ts';
import type { SqlParams } from '../platform/clickhouse/sql.ts';
import type { AttributeName, BandName, MetricName } from './attributes.ts';

const DAY = 86_400_000;

/** First seen less than this ago: new. */
export const NEW_MS = 7 * DAY;
/** Otherwise last seen less than this ago: active. */
export const ACTIVE_MS = 14 * DAY;
/** Otherwise last seen less than this ago: slipping. Later: dormant. */
export const SLIPPING_MS = 60 * DAY;

/** A built-in attribute of a row of the view `people`; has_push is no column and compiled apart. */
export function attributeTargetSql(
  name: Exclude<AttributeName, 'has_push'>,
  context: { params: SqlParams; today: number },
): TargetSql {
  if (isProfileColumn(name)) return traitTargetSql(name, context.params);
  const today = todaySql(context);
  switch (name) {
    case 'total_revenue':
    case 'order_count':
      return always(`toFloat64(${name})`);
    case 'first_seen':
      return always('toFloat64(toUnixTimestamp64Milli(first_seen))');
    case 'last_order_at': {
      const value = 'toFloat64(ifNull(toUnixTimestamp64Milli(last_order_at), 0))';
      return numeric(`${value} != 0`, value);
    }
    case 'days_since_last_seen':
      return always(
        `toFloat64(greatest(0, dateDiff('day', toDate32(last_seen, 'Asia/Tehran'), ${today})))`,
      );
    case 'days_until_birthday':
      return numeric(BIRTHDAY.isDate, BIRTHDAY.days);
  }
}

interface DayContext {
  params: SqlParams;
  /** Days since 1970-01-01 of today in Tehran. */
  today: number;
}

function todaySql({ params, today }: DayContext): string {
  return `toDate32(${params.text(new Date(today * DAY).toISOString().slice(0, 10))})`;
}

/** Names of the statement: whether a person's birthday is a date, and the days until it. */
export const BIRTHDAY = { isDate: 'birthday_is_date', days: 'birthday_days' };

/**
 * Days to the next birthday. The column contains the date as sent: a Gregorian YYYY-MM-DD, with
 * or without a time behind it, counts; anything else is no birthday. The 29th of February falls on
 * the 28th in common years.
 */
export function birthdayNames(context: DayContext): string[] {
  const today = todaySql(context);
  const born = "ifNull(toDate32OrNull(substring(birthday, 1, 10)), toDate32('1900-01-01'))";
  // The parser rolls 30 February over into March: the text must come out as it went in.
  const isDate = `match(birthday, '^[0-9]{4}-[0-9]{2}-[0-9]{2}($|[T ])') AND toString(${born}) = substring(birthday, 1, 10)`;
  const inYear = (plus: number) =>
    `addYears(${born}, toYear(${today}) - toYear(${born}) + ${plus})`;
  const next = `if(${inYear(0)} >= ${today}, ${inYear(0)}, ${inYear(1)})`;
  return [
    `(${isDate}) AS ${BIRTHDAY.isDate}`,
    `toFloat64(dateDiff('day', ${today}, ${next})) AS ${BIRTHDAY.days}`,
  ];
}

function always(value: string): TargetSql {
  return numeric('true', value);
}

function numeric(has: string, value: string): TargetSql {
  return { has, number: { has, value } };
}

interface MetricSql {
  /** How far back, days. */
  days: number;
  /** Which events. */
  of: string;
  /** What is made of a person's events, a float. */
  value: string;
}

/** Events that the platform writes itself are not activity of the person (ingest 6.1). */
const OWN = "event NOT IN ('message_sent', 'message_failed', 'message_withheld', 'message_opened')";
const REVERSAL = "event IN ('order_refunded', 'order_cancelled')";

/** The engagement metrics (reports: Audiences; their exact meaning: docs/audiences.md). */
export const METRIC_SQL: Readonly<Record<MetricName, MetricSql>> = {
  events_7d: { days: 7, of: OWN, value: 'toFloat64(count())' },
  events_30d: { days: 30, of: OWN, value: 'toFloat64(count())' },
  sessions_30d: { days: 30, of: "session_id != ''", value: 'toFloat64(uniqExact(session_id))' },
  active_days_30d: {
    days: 30,
    of: OWN,
    value: "toFloat64(uniqExact(toDate(timestamp, 'Asia/Tehran')))",
  },
  orders_90d: {
    days: 90,
    of: `(event = 'order_completed' OR ${REVERSAL})`,
    value:
      "greatest(0., toFloat64(countIf(event = 'order_completed')) - toFloat64(countIf(event != 'order_completed')))",
  },
  revenue_90d: {
    days: 90,
    of: 'revenue != 0',
    value: `greatest(0., sum(if(${REVERSAL}, -abs(revenue), revenue)))`,
  },
};

/** The condition on a row of `people` that puts the person in a band (docs/audiences.md). */
export function bandSql(
  band: BandName,
  { params, now }: { params: SqlParams; now: number },
): string {
  const seenAfter = (column: string, age: number) => `${column} > ${params.instant(now - age)}`;
  const isNew = seenAfter('first_seen', NEW_MS);
  switch (band) {
    case 'new':
      return isNew;
    case 'active':
      return `NOT (${isNew}) AND ${seenAfter('last_seen', ACTIVE_MS)}`;
    case 'slipping':
      return `NOT (${isNew}) AND NOT (${seenAfter('last_seen', ACTIVE_MS)}) AND ${seenAfter('last_seen', SLIPPING_MS)}`;
    case 'dormant':
      return `NOT (${isNew}) AND NOT (${seenAfter('last_seen', SLIPPING_MS)})`;
  }
}
