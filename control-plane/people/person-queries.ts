import { KEPT_EVENTS } from '../../platform/clickhouse/kept-events.ts';
import { SqlParams, type CompiledQuery } from '../../platform/clickhouse/sql.ts';
import { LIVE_COLUMNS } from '../live/live-query.ts';

/** The profile of a person. */
export interface ProfileRow {
  first: number;
  last: number;
  orders: number;
  revenue: number;
  columns: [name: string, value: string][];
  traits: Record<string, string>;
}

export interface MessageRow {
  message_id: string;
  campaign_id: number;
  channel: string;
  category: string;
  status: string;
  reason: string;
  finished: number;
}

const COLUMNS = [
  ...['email', 'phone', 'first_name', 'last_name', 'gender', 'birthday', 'national_id', 'city'],
  ...['region', 'country', 'language', 'timezone', 'push_opt_in', 'email_opt_in', 'sms_opt_in'],
];
const MESSAGES = 50;
/** Events of one page of the timeline. */
export const TIMELINE = 100;

interface Question {
  accountId: number;
  names: readonly string[];
}

export function compileProfile({
  accountId,
  canonical,
}: {
  accountId: number;
  canonical: string;
}): CompiledQuery {
  const params = new SqlParams();
  const columns = COLUMNS.map((name) => `('${name}', toString(${name}))`).join(', ');
  const sql = `SELECT toUnixTimestamp64Milli(first_seen) AS first, toUnixTimestamp64Milli(last_seen) AS last, order_count AS orders,
      toFloat64(total_revenue) AS revenue, arrayFilter(c -> c.2 != '', [${columns}]) AS columns, traits
    FROM people WHERE account_id = ${params.whole(accountId)} AND person = ${params.text(canonical)}`;
  return { sql, params: params.values() };
}

/** Events of all names of a person, newest first; `before`: earlier ones. */
export function compileTimeline({
  accountId,
  names,
  before,
}: Question & { before: number }): CompiledQuery {
  const params = new SqlParams();
  const sql = `SELECT ${LIVE_COLUMNS} FROM events WHERE account_id = ${params.whole(accountId)} AND ${KEPT_EVENTS}
    AND ${personIn(names, params)} AND timestamp < ${params.instant(before)} ORDER BY timestamp DESC LIMIT ${TIMELINE}`;
  return { sql, params: params.values() };
}

export function compileMessages({ accountId, names }: Question): CompiledQuery {
  const params = new SqlParams();
  const sql = `SELECT message_id, campaign_id, channel, category, status, reason, toUnixTimestamp64Milli(finished_at) AS finished
    FROM messages FINAL WHERE account_id = ${params.whole(accountId)} AND ${personIn(names, params)} ORDER BY finished_at DESC LIMIT ${MESSAGES}`;
  return { sql, params: params.values() };
}

function personIn(names: readonly string[], params: SqlParams): string {
  return `_person IN (SELECT sipHash64(arrayJoin(${params.bind('Array(String)', names)})))`;
}
