import type { ClickHouseClient } from '@clickhouse/client';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import type { Config } from './config.ts';

/** Audiences of on-site campaigns whose members are read at a time. */
const MEMBER_QUERIES = 1;
/** An export may be silent for long while ClickHouse sorts or waits. */
const EXPORT_IDLE_MS = 600_000;

/** Clients of the jobs of this process, apart from those of requests. */
export interface JobClients {
  exports: ClickHouseClient;
  members: ClickHouseClient;
  /** Queries that they run at a time. */
  queries: number;
  close: () => Promise<void>;
}

export function connectJobClients({ config, name }: { config: Config; name: string }): JobClients {
  const settings = {
    ...config,
    CLICKHOUSE_URL: config.CLICKHOUSE_REPORTS_URL || config.CLICKHOUSE_URL,
  };
  const exports = connectClickhouse({
    ...{ settings, name: `${name}-export`, requestTimeout: EXPORT_IDLE_MS },
    connections: config.EXPORT_WORKERS,
  });
  const members = connectClickhouse({
    ...{ settings, name: `${name}-members`, requestTimeout: 60_000, connections: MEMBER_QUERIES },
  });
  return {
    ...{ exports, members, queries: config.EXPORT_WORKERS + MEMBER_QUERIES },
    close: async () => {
      await Promise.all([exports.close(), members.close()]);
    },
  };
}
