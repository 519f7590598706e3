import type { ClickHouseClient } from '@clickhouse/client';
import { connectClickhouse, type ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';
import { startOwnShards, type OwnShards } from '../sink/own-servers.ts';

/** Two servers as shards with all tables, and a client of both. */
export interface TwoShards extends OwnShards {
  settings: ClickhouseSettings;
  client: ClickHouseClient;
}

export function settingsOf(shards: OwnShards, url = shards.url): ClickhouseSettings {
  return parseSettings(clickhouseSettings, {
    CLICKHOUSE_URL: url,
    CLICKHOUSE_SHARDS: shards.cluster,
  });
}

export async function openTwoShards(): Promise<TwoShards> {
  const shards = await startOwnShards();
  const settings = settingsOf(shards);
  await migrateClickhouse(settings, ddlFolders());
  const client = connectClickhouse({ settings, name: 'test', requestTimeout: 100_000 });
  return {
    ...{ ...shards, settings, client },
    async close() {
      await client.close();
      await shards.close();
    },
  };
}
