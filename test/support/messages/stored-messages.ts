import type { ClickHouseClient } from '@clickhouse/client';
import { rows } from '../stack.ts';

/** The outcomes of an account's messages in ClickHouse: `status reason` by message id. */
export async function storedMessages(
  client: ClickHouseClient,
  accountId: number,
): Promise<Map<string, string>> {
  const found = await rows<{ message_id: string; outcome: string }>(
    client,
    `SELECT message_id, concat(status, ' ', reason) AS outcome FROM messages FINAL WHERE account_id = {a:UInt64}`,
    { a: accountId },
  );
  return new Map(found.map(({ message_id, outcome }) => [message_id, outcome]));
}

/** The platform events about messages: `message_id event count`, in order. */
export async function storedMessageEvents(
  client: ClickHouseClient,
  accountId: number,
): Promise<string[]> {
  const found = await rows<{ line: string }>(
    client,
    `SELECT concat(source_message_id, ' ', event, ' ', toString(count())) AS line FROM events
     WHERE account_id = {a:UInt64} AND source = 'platform' AND event LIKE 'message\\\\_%'
     GROUP BY source_message_id, event`,
    { a: accountId },
  );
  return found.map(({ line }) => line).sort();
}

/** How many of an account's messages have an outcome in ClickHouse. */
export async function storedMessageCount(
  client: ClickHouseClient,
  accountId: number,
): Promise<number> {
  const [row] = await rows<{ messages: number }>(
    client,
    'SELECT uniqExact(message_id) AS messages FROM messages WHERE account_id = {a:UInt64}',
    { a: accountId },
  );
  return row?.messages ?? 0;
}
