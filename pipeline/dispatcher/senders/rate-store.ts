import type { Database } from '../../../platform/postgres/pool.ts';
import { partOf } from './rate-slots.ts';

/** Whose calls are limited; an empty channel: those of the account over all channels. */
export interface RateKey {
  accountId: number;
  channel: string;
  perSecond: number;
}

/** A part of a sender's time begins after this wait, ms. */
export interface GrantedPart {
  waitMs: number;
  calls: number;
  intervalMs: number;
}

/** How far ahead the time of a sender is given to dispatchers, ms. */
const WINDOW_MS = 1000;

/** Parts follow each other, whoever asks for them: together they never exceed the limit. */
const GRANT = `INSERT INTO message_sender_rates AS r (account_id, channel, used_until)
  SELECT account_id, channel, now() + length * interval '1 millisecond'
  FROM unnest($1::bigint[], $2::text[], $3::float8[]) AS w (account_id, channel, length) ORDER BY 1, 2
  ON CONFLICT (account_id, channel) DO UPDATE SET used_until = greatest(r.used_until, now()) + (excluded.used_until - now())
    WHERE r.used_until < now() + $4 * interval '1 millisecond'
  RETURNING account_id::float8, channel, (extract(epoch FROM used_until - now()) * 1000)::float8 AS until_ms`;

/**
 * Takes the next part of the time of some senders, each at most once. Undefined: others have it for
 * the next second. Rejects when PostgreSQL does.
 */
export async function grantRates(
  database: Pick<Database, 'query'>,
  keys: readonly RateKey[],
): Promise<(GrantedPart | undefined)[]> {
  const wanted = keys.map(({ accountId, channel, perSecond }) => ({
    ...{ accountId, channel, ...partOf(perSecond) },
  }));
  const { rows } = await database.query<{ account_id: number; channel: string; until_ms: number }>(
    GRANT,
    [
      wanted.map(({ accountId }) => accountId),
      wanted.map(({ channel }) => channel),
      wanted.map(({ calls, intervalMs }) => calls * intervalMs),
      WINDOW_MS,
    ],
  );
  const byKey = new Map(rows.map((row) => [`${row.account_id} ${row.channel}`, row.until_ms]));
  return wanted.map(({ accountId, channel, calls, intervalMs }) => {
    const until = byKey.get(`${accountId} ${channel}`);
    if (until === undefined) return undefined;
    return { waitMs: Math.max(0, until - calls * intervalMs), calls, intervalMs };
  });
}
