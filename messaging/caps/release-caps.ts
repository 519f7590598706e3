import type { Database } from '../../platform/postgres/pool.ts';
import type { CappedMessage } from './reserve-caps.ts';

type Queries = Pick<Database, 'query'>;

/**
 * Gives the places of messages back that were not sent: common table expressions `caps_locked` and
 * `caps_released`, for the statement that finishes them. Each parameter is a placeholder: $1 for
 * example. Rows are locked in the order in which they are reserved.
 */
export function releaseCapsSql(parameters: {
  /** bigint */
  account: string;
  /** text */
  channel: string;
  /** text[]: personKey of each message's person */
  persons: string;
  /** text[] */
  messageIds: string;
}): string {
  const { account, channel, persons, messageIds } = parameters;
  return `caps_locked AS (
    SELECT c.person FROM message_caps c WHERE c.account_id = ${account}::bigint AND c.channel = ${channel}::text AND c.person = ANY (${persons}::text[])
    ORDER BY c.person FOR UPDATE
  ), caps_released AS (
    UPDATE message_caps c SET reserved = c.reserved - u.message_ids
    FROM (SELECT person, array_agg(message_id) AS message_ids FROM unnest(${persons}::text[], ${messageIds}::text[]) AS w (person, message_id) GROUP BY person) u
    JOIN caps_locked l ON l.person = u.person
    WHERE c.account_id = ${account}::bigint AND c.channel = ${channel}::text AND c.person = u.person
  )`;
}

const RELEASE = `WITH ${releaseCapsSql({ account: '$1', channel: '$2', persons: '$3', messageIds: '$4' })} SELECT 1`;

/** Gives the places of messages back, in a statement of its own. Repeatable. */
export async function releaseCaps(
  database: Queries,
  of: { accountId: number; channel: string },
  messages: readonly CappedMessage[],
): Promise<void> {
  if (messages.length === 0) return;
  await database.query(RELEASE, [
    ...[of.accountId, of.channel],
    messages.map(({ person }) => person),
    messages.map(({ messageId }) => messageId),
  ]);
}

const SWEEP = `DELETE FROM message_caps WHERE (account_id, channel, person) IN (
    SELECT account_id, channel, person FROM message_caps WHERE expires_at < clock_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`;

/** Removes rows of which nothing counts any more, at most `limit`; resolves with how many. */
export async function sweepCaps(database: Queries, limit: number): Promise<number> {
  const { rowCount } = await database.query(SWEEP, [limit]);
  return rowCount ?? 0;
}
