import {
  ClickHouseLogLevel,
  createClient,
  type ClickHouseClient,
  type ClickHouseSettings,
} from '@clickhouse/client';
import type { clickhouseSettings } from '../settings-common.ts';
import { splitHosts } from '../split-hosts.ts';
import type { SettingsOf } from '../settings.ts';
import { readTlsFiles, tlsPaths } from '../tls-files.ts';
import { withHosts } from './each-host.ts';
import { hostAgent } from './host-agents.ts';
import { DISTRIBUTED_SETTINGS, shardDatabase, shardedClient } from './shards.ts';
import { QUORUM_INSERT } from './replicas.ts';

export type ClickhouseSettings = SettingsOf<typeof clickhouseSettings>;

interface Connecting {
  settings: ClickhouseSettings;
  name: string;
  database?: string;
  requestTimeout?: number;
  connections?: number;
}

/**
 * Connects to CLICKHOUSE_DATABASE, or without a database (`''`) to create it. With
 * CLICKHOUSE_SHARDS a client of all shards (shards.ts).
 */
export function connectClickhouse(options: Connecting): ClickHouseClient {
  const { settings } = options;
  const database = options.database ?? settings.CLICKHOUSE_DATABASE;
  const urls = splitHosts(settings.CLICKHOUSE_URL);
  const eachOf = (database: string) =>
    urls.map((url) => connectServer({ ...options, urls: [url], database }));
  if (settings.CLICKHOUSE_SHARDS) {
    const shards = eachOf(database === '' ? '' : shardDatabase(database));
    const distributed = { ...options, urls, database, defaults: DISTRIBUTED_SETTINGS };
    return withHosts(shardedClient(connectServer(distributed), shards), shards);
  }
  // An insert into a Distributed table is answered when a quorum of the replicas has the rows.
  const defaults = settings.CLICKHOUSE_CLUSTER ? QUORUM_INSERT : {};
  const client = connectServer({ ...options, urls, database, defaults });
  return urls.length === 1 ? client : withHosts(client, eachOf(database));
}

/** @param options `urls`: hosts with the same tables; the first one that answers is used */
function connectServer(
  options: Connecting & {
    urls: readonly string[];
    database: string;
    defaults?: ClickHouseSettings;
  },
): ClickHouseClient {
  const { database } = options;
  const urls = options.urls.map((url) => new URL(url));
  const [target] = urls;
  if (!target) throw new Error('CLICKHOUSE_URL names no host');
  const username = decodeURIComponent(target.username);
  const password = decodeURIComponent(target.password);
  target.username = '';
  target.password = '';
  const connections = options.connections ?? 8;
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
      // Threads that format or parse cost each statement 0.5 ms of CPU, however short it is.
      output_format_parallel_formatting: 0,
      input_format_parallel_parsing: 0,
      ...options.defaults,
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
