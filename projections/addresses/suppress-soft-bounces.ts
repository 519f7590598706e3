import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import { LIVE_SCHEMA } from './write-batch.ts';

/** Soft bounces that suppress an address, and the time within which they are counted. */
const SOFT_BOUNCES = 5;
const WITHIN_MS = 14 * 86_400_000;

/**
 * The address is suppressed as of the bounce that completes the five; those before it was restored
 * count no more.
 */
const suppress = (schema: string) => `WITH counted AS (
    SELECT b.*, lag(b.received_at, ${SOFT_BOUNCES - 1}) OVER (PARTITION BY b.account_id, b.channel, b.address ORDER BY b.received_at) AS first_at
    FROM ${schema}.soft_bounces b
    LEFT JOIN ${schema}.channel_suppressions s USING (account_id, channel, address)
    WHERE (b.account_id, b.channel, b.address) IN (SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]))
      AND (s.address IS NULL OR s.suppressed OR b.received_at > s.received_at)
  )
  INSERT INTO ${schema}.channel_suppressions (account_id, channel, address, suppressed, reason, user_id, received_at, gateway, sequence, log_epoch, log_partition, log_offset)
  SELECT DISTINCT ON (account_id, channel, address) account_id, channel, address, true, 'soft_bounces', user_id, received_at, '', 0, log_epoch, log_partition, log_offset
  FROM counted WHERE first_at IS NOT NULL AND received_at - first_at <= ${WITHIN_MS}
  ORDER BY account_id, channel, address, received_at
  ON CONFLICT (account_id, channel, address) DO UPDATE SET suppressed = true, reason = excluded.reason, user_id = excluded.user_id,
    received_at = excluded.received_at, gateway = '', sequence = 0,
    log_epoch = excluded.log_epoch, log_partition = excluded.log_partition, log_offset = excluded.log_offset
  WHERE NOT channel_suppressions.suppressed AND channel_suppressions.received_at < excluded.received_at`;

/** Suppresses the addresses of these bounces that have had five within 14 days. Repeatable. */
export async function suppressSoftBounces(
  database: Pick<Database, 'query'>,
  bounces: Iterable<ChannelCommand>,
  schema = LIVE_SCHEMA,
): Promise<void> {
  const all = [...bounces];
  if (all.length === 0) return;
  await database.query(suppress(schema), [
    all.map(({ account_id }) => account_id),
    all.map(({ channel }) => channel),
    all.map(({ address_id }) => escapeText(address_id)),
  ]);
}
