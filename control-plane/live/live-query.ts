import { SqlParams, type CompiledQuery } from '../../platform/clickhouse/sql.ts';
import { KEPT_EVENTS } from '../../platform/clickhouse/kept-events.ts';

export interface LiveQuestion {
  accountId: number;
  /** ms since the epoch: events received since then. */
  since: number;
  /** Empty: any. */
  event: string;
  /** user_id or anonymous_id. */
  person: string;
  message: string;
  limit: number;
}

/** An event as the panel shows it. */
export interface LiveRow {
  /** ms since the epoch. */
  received: number;
  occurred: number;
  type: string;
  event: string;
  user_id: string;
  anonymous_id: string;
  message_id: string;
  source: string;
  library: string;
  properties: Record<string, string>;
}

/** Columns of LiveRow. */
export const LIVE_COLUMNS = [
  'toUnixTimestamp64Milli(received_at) AS received',
  'toUnixTimestamp64Milli(timestamp) AS occurred',
  ...['type', 'event', 'user_id', 'anonymous_id', 'message_id', 'source'],
  "trim(concat(library_name, ' ', library_version)) AS library",
  'properties',
].join(', ');

/** The newest events of an account. Parts without events of that time are not read (`received`). */
export function compileLive({ accountId, since, limit, ...asked }: LiveQuestion): CompiledQuery {
  const params = new SqlParams();
  const { event, person, message } = asked;
  const where = [
    `account_id = ${params.whole(accountId)}`,
    KEPT_EVENTS,
    `received_at >= ${params.instant(since)}`,
    ...(event === '' ? [] : [`event = ${params.text(event)}`]),
    ...(person === ''
      ? []
      : [`(user_id = ${params.text(person)} OR anonymous_id = ${params.text(person)})`]),
    ...(message === '' ? [] : [`message_id = ${params.text(message)}`]),
  ];
  // All events of a batch are received at once: they are shown in the order in which they happened.
  const newest = `ORDER BY received_at DESC, timestamp DESC LIMIT ${limit}`;
  const sql = `SELECT ${LIVE_COLUMNS} FROM events WHERE ${where.join(' AND ')} ${newest}`;
  return { sql, params: params.values() };
}
