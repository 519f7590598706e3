import { KEPT_EVENTS } from '../../platform/clickhouse/kept-events.ts';
import type { ClickHouseClient } from '@clickhouse/client';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { StoredRow } from './evidence.ts';

/** The filters of message ids and traces leave few granules; a query ends after so long, s. */
const MAX_QUERY_SECONDS = 10;

interface StoredQuestion {
  messageId: string;
  accountId: number;
  since: number | undefined;
}

/** Rows of a message, in the order of their positions; at most 20. */
export function storedRows(
  client: ClickHouseClient,
  question: StoredQuestion,
): Promise<StoredRow[]> {
  return ask(client, storedRowsQuery(question));
}

/** Its statement, which must read few granules. */
export function storedRowsQuery({ messageId, accountId, since }: StoredQuestion): {
  query: string;
  params: Record<string, unknown>;
} {
  const from =
    since === undefined ? '' : 'AND received_at >= fromUnixTimestamp64Milli({since:Int64})';
  return {
    query: `SELECT _epoch AS epoch, _partition AS partition, _offset AS offset, _index AS index, event, type, user_id, anonymous_id, previous_id, _trace AS trace,
        toUnixTimestamp64Milli(timestamp) AS timestamp, toUnixTimestamp64Milli(received_at) AS received_at
      FROM events WHERE account_id = {account:UInt64} AND message_id = {message:String} AND ${KEPT_EVENTS} ${from} ORDER BY epoch, partition, offset, index LIMIT 20`,
    params: { account: accountId, message: messageId, since },
  };
}

/** Accounts that have rows of a message id, at most 100; also rows that are about to be deleted. */
export async function accountsWithRows(
  client: ClickHouseClient,
  { messageId, since }: { messageId: string; since: number | undefined },
): Promise<number[]> {
  const from =
    since === undefined ? '' : 'AND received_at >= fromUnixTimestamp64Milli({since:Int64})';
  const rows = await ask<{ id: number }>(client, {
    query: `SELECT DISTINCT toFloat64(account_id) AS id FROM events WHERE message_id = {message:String} ${from} LIMIT 100`,
    params: { message: messageId, since },
  });
  return rows.map(({ id }) => id);
}

/** A stored event of a request. */
export interface TracedRow extends LogPosition {
  account_id: number;
  message_id: string;
  event: string;
  type: string;
  /** ms since the epoch */
  received_at: number;
}

/** Rows of the request, in the order of their reception; at most `limit`. */
export function rowsOfTrace(
  client: ClickHouseClient,
  question: {
    traces: readonly string[];
    accountId: number | undefined;
    since: number | undefined;
    limit: number;
  },
): Promise<TracedRow[]> {
  const { traces, accountId, since, limit } = question;
  const account = accountId === undefined ? '' : 'AND account_id = {account:UInt64}';
  const from =
    since === undefined ? '' : 'AND received_at >= fromUnixTimestamp64Milli({since:Int64})';
  return ask(client, {
    query: `SELECT _epoch AS epoch, _partition AS partition, _offset AS offset, _index AS index, account_id, message_id, event, type,
        toUnixTimestamp64Milli(received_at) AS received_at
      FROM events WHERE _trace IN {traces:Array(String)} ${account} ${from} ORDER BY received_at, partition, offset, index LIMIT {limit:UInt32}`,
    params: { traces, account: accountId, since, limit },
  });
}

/** The last position folded into a profile; undefined when the person has no profile. */
export async function foldedPosition(
  client: ClickHouseClient,
  { accountId, distinctId }: { accountId: number; distinctId: string },
): Promise<LogPosition | undefined> {
  const rows = await ask<LogPosition>(client, {
    query: `SELECT _epoch AS epoch, _partition AS partition, _offset AS offset, _index AS index FROM profiles FINAL WHERE account_id = {account:UInt64} AND name = {name:String}`,
    params: { account: accountId, name: distinctId },
  });
  return rows[0];
}

/** Canonical ids of distinct ids; one that no alias mentions is missing. */
export async function canonicalIds(
  client: ClickHouseClient,
  { accountId, distinctIds }: { accountId: number; distinctIds: readonly string[] },
): Promise<Map<string, string>> {
  const rows = await ask<{ name: string; canonical: string }>(client, {
    query: `SELECT name, canonical FROM identities_flat FINAL WHERE account_id = {account:UInt64} AND name IN {names:Array(String)}`,
    params: { account: accountId, names: distinctIds },
  });
  return new Map(rows.map(({ name, canonical }) => [name, canonical]));
}

async function ask<T>(
  client: ClickHouseClient,
  { query, params }: { query: string; params: Record<string, unknown> },
): Promise<T[]> {
  const answer = await client.query({
    query,
    query_params: params,
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: MAX_QUERY_SECONDS },
  });
  return answer.json<T>();
}
