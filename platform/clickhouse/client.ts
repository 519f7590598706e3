import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import type { clickhouseSettings } from '../settings-common.ts';
import type { SettingsOf } from '../settings.ts';

export type ClickhouseSettings = SettingsOf<typeof clickhouseSettings>;

/** Connects to CLICKHOUSE_DATABASE, or without a database (`''`) to create it. */
export function connectClickhouse(options: {
  settings: ClickhouseSettings;
  name: string;
  database?: string;
  requestTimeout?: number;
  connections?: number;
}): ClickHouseClient {
  const target = new URL(options.settings.CLICKHOUSE_URL);
  const username = decodeURIComponent(target.username);
  const password = decodeURIComponent(target.password);
  target.username = '';
  target.password = '';
  const database = options.database ?? options.settings.CLICKHOUSE_DATABASE;
  return createClient({
    url: target.toString(),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(database === '' ? {} : { database }),
    application: options.name,
    // The client throws its errors; the caller logs them.
    log: { level: ClickHouseLogLevel.OFF },
    request_timeout: options.requestTimeout ?? 30_000,
    max_open_connections: options.connections ?? 8,
    keep_alive: { enabled: true, idle_socket_ttl: 2000 },
    clickhouse_settings: {
      date_time_input_format: 'best_effort',
      output_format_json_quote_64bit_integers: 0,
    },
  });
}
