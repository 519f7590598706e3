import type { ClickHouseClient } from '@clickhouse/client';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';

const ADVANCE = `SELECT setval('channel_versions', $1::bigint) FROM channel_versions WHERE last_value < $1::bigint`;

/**
 * Advances the sequence of versions to the highest one in ClickHouse: after PostgreSQL was lost or
 * restored to an earlier time, rows with a lower version would replace nothing. Retries until both
 * stores answer.
 */
export async function advanceVersions({
  database,
  clickhouse,
  log,
  signal,
}: {
  database: Pick<Database, 'query'>;
  clickhouse: Pick<ClickHouseClient, 'query'>;
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const what = 'comparing the versions of addresses';
  await retryUntilAborted({ log, signal, code: 'addresses_waiting', what }, async () => {
    const answer = await clickhouse.query({
      query: 'SELECT max(version) AS version FROM addresses',
      format: 'JSONCompactEachRow',
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    });
    const versions = await answer.json<[version: number]>();
    const highest = versions[0]?.[0] ?? 0;
    const { rows } = await database.query(ADVANCE, [highest]);
    if (rows.length > 0)
      log.warn(
        { code: 'addresses_went_back', version: highest },
        'PostgreSQL held older addresses than ClickHouse: their versions continue after those of ClickHouse',
      );
  });
}
