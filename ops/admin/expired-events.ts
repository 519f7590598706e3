import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { clickhouseSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { expiresBelow } from '../../projections/retention/plan.ts';

/** What a retention of so many days would delete of the events of an account. */
export interface ExpiredEvents {
  /** Events that the next retention run deletes. */
  events_to_delete: number;
  /** The oldest one; null: there is none. */
  oldest_event: string | null;
  /** Events with an earlier timestamp expire; null: the TTL of the table decides. */
  deleted_below: string | null;
}

/** Counts what a retention would delete; nothing is changed. Rejects without ClickHouse. */
export async function expiredEvents({
  env,
  accountId,
  days,
}: {
  env: NodeJS.ProcessEnv;
  accountId: number;
  days: number;
}): Promise<ExpiredEvents> {
  const below = expiresBelow(days, Date.now());
  if (below === undefined) return { events_to_delete: 0, oldest_event: null, deleted_below: null };
  const settings = parseSettings(clickhouseSettings, env);
  const client = connectClickhouse({ settings, name: 'ravand-admin', requestTimeout: 65_000 });
  try {
    const answer = await client.query({
      query: `SELECT count() AS events, toUnixTimestamp64Milli(min(timestamp)) AS oldest FROM events
        WHERE account_id = {account:UInt64} AND timestamp < fromUnixTimestamp64Milli({below:Int64}, 'UTC')`,
      query_params: { account: accountId, below: Math.floor(below) },
      format: 'JSONEachRow',
      clickhouse_settings: { max_execution_time: 60, output_format_json_quote_64bit_integers: 0 },
    });
    const [row] = await answer.json<{ events: number; oldest: number }>();
    const events = row?.events ?? 0;
    return {
      events_to_delete: events,
      oldest_event: events === 0 || !row ? null : new Date(row.oldest).toISOString(),
      deleted_below: new Date(below).toISOString(),
    };
  } finally {
    await client.close();
  }
}
