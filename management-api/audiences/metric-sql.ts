import type { MetricName } from './attributes.ts';

interface MetricSql {
  /** How far back, days. */
  days: number;
  /** Which events. */
  of: string;
  /** What is made of a person's events, a float. */
  value: string;
}

/** What the platform's own workers write is nobody's activity (ingest 6.1). */
const OWN = "event NOT IN ('message_sent', 'message_failed', 'message_withheld', 'message_opened')";
const TAKEN_BACK = "event IN ('order_refunded', 'order_cancelled')";

/** The engagement metrics (reports.md, "Audiences"; their exact meaning: docs/audiences.md). */
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
    of: `(event = 'order_completed' OR ${TAKEN_BACK})`,
    value:
      "greatest(0., toFloat64(countIf(event = 'order_completed')) - toFloat64(countIf(event != 'order_completed')))",
  },
  revenue_90d: {
    days: 90,
    of: 'revenue != 0',
    value: `greatest(0., sum(if(${TAKEN_BACK}, -abs(revenue), revenue)))`,
  },
};
