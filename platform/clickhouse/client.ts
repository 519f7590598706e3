import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import type { clickhouseSettings } from '../settings-common.ts';
import { splitHosts } from '../split-hosts.ts';
import type { SettingsOf } from '../settings.ts';
import { readTlsFiles, tlsPaths } from '../tls-files.ts';
import { hostAgent } from './host-agents.ts';

export type ClickhouseSettings = SettingsOf<typeof clickhouseSettings>;

/** Connects to CLICKHOUSE_DATABASE, or without a database (`''`) to create it. */
export function connectClickhouse(options: {
  settings: ClickhouseSettings;
  name: string;
  database?: string;
  requestTimeout?: number;
  connections?: number;
}): ClickHouseClient {
  const urls = splitHosts(options.settings.CLICKHOUSE_URL).map((url) => new URL(url));
  const [target] = urls;
  if (!target) throw new Error('CLICKHOUSE_URL names no host');
  const username = decodeURIComponent(target.username);
  const password = decodeURIComponent(target.password);
  target.username = '';
  target.password = '';
  const connections = options.connections ?? 8;
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
    max_open_connections: connections,
    ...agentOf({ urls, settings: options.settings, connections }),
    keep_alive: { enabled: true, idle_socket_ttl: 2000 },
    clickhouse_settings: {
      date_time_input_format: 'best_effort',
      output_format_json_quote_64bit_integers: 0,
    },
  });
}

/** With several hosts or certificates of our own; the client's own agent does for one host. */
function agentOf({
  urls,
  settings,
  connections,
}: {
  urls: readonly URL[];
  settings: ClickhouseSettings;
  connections: number;
}) {
  const paths = tlsPaths(settings, 'CLICKHOUSE');
  if (urls.length === 1 && paths.ca === '' && paths.cert === '') return {};
  const agent = { keepAlive: true, maxSockets: connections };
  return { http_agent: hostAgent({ urls, tls: readTlsFiles(paths), agent }) };
}
