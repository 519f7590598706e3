import type { Database } from '../../../platform/postgres/pool.ts';

/** A deadline that is no more than this earlier than it could be stays: it is rarely written. */
const MOVE = `UPDATE campaign_runs r SET deadline_at = now() + interval '24 hours'
  FROM unnest($1::bigint[], $2::text[]) AS f (account_id, channel)
  WHERE r.account_id = f.account_id AND r.state IN ('planning', 'sending') AND NOT r.cancelled AND NOT r.paused
    AND r.deadline_at > now() AND r.deadline_at < now() + interval '24 hours' - interval '10 minutes'
    AND r.channel = f.channel`;

/**
 * Runs of senders that work at their limits get a deadline 24 hours from now: nobody fails because
 * the account lets its sender send slowly. A deadline that has passed stays. Rejects when
 * PostgreSQL does.
 */
export async function moveDeadlines(
  database: Pick<Database, 'query'>,
  channels: readonly { accountId: number; channel: string }[],
): Promise<void> {
  await database.query(MOVE, [
    channels.map(({ accountId }) => accountId),
    channels.map(({ channel }) => channel),
  ]);
}
