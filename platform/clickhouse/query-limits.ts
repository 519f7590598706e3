import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import type { Log } from '../log.ts';

const REFRESH_MS = 60_000;
const READ_MS = 5000;
/** Assumed memory of a server that does not tell its limit, bytes. */
const UNKNOWN_SERVER = 4 * 2 ** 30;

export interface MemoryShare {
  /** max_server_memory_usage, bytes. */
  serverBytes: number;
  /** Percent of it that all queries of this service may use together. */
  percent: number;
  /** Queries that run at a time. */
  queries: number;
  /** Only this service's queries run under its ClickHouse user. */
  hasOwnUser: boolean;
}

/**
 * Memory of one query and, with a user of its own, of all together. ClickHouse counts memory by
 * user: under a user that also inserts, a limit for all queries would stop inserts, so the share is
 * divided among the queries that may run.
 */
export function memoryLimits({ serverBytes, percent, queries, hasOwnUser }: MemoryShare): {
  query: number;
  user: number | undefined;
} {
  const all = Math.floor((serverBytes * percent) / 100);
  return hasOwnUser
    ? { query: Math.floor(all / 2), user: all }
    : { query: Math.floor(all / queries), user: undefined };
}

/** Settings of every query. Larger GROUP BY states and sorts spill to disk. */
export function limitSettings(share: MemoryShare): ClickHouseSettings {
  const { query, user } = memoryLimits(share);
  const spill = String(Math.floor(query / 2));
  return {
    max_memory_usage: String(query),
    max_bytes_before_external_group_by: spill,
    max_bytes_before_external_sort: spill,
    ...(user === undefined ? {} : { max_memory_usage_for_user: String(user) }),
  };
}

/** The settings for the server's memory as it is now, read at most once a minute. */
export function queryLimits({
  client,
  log,
  ...share
}: Omit<MemoryShare, 'serverBytes'> & {
  client: ClickHouseClient;
  log: Log;
}): () => Promise<ClickHouseSettings> {
  let known: { settings: Promise<ClickHouseSettings>; until: number } | undefined;
  const read = async () => limitSettings({ ...share, serverBytes: await serverMemory(client) });
  return () => {
    if (known && performance.now() < known.until) return known.settings;
    const settings = read().catch((error: unknown) => {
      log.warn(
        { err: error, code: 'server_memory_unknown' },
        'the memory limit of ClickHouse cannot be read; queries run with the limits of a small server',
      );
      return limitSettings({ ...share, serverBytes: UNKNOWN_SERVER });
    });
    known = { settings, until: performance.now() + REFRESH_MS };
    return settings;
  };
}

async function serverMemory(client: ClickHouseClient): Promise<number> {
  const result = await client.query({
    query: "SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'",
    format: 'JSONEachRow',
    abort_signal: AbortSignal.timeout(READ_MS),
  });
  const bytes = Number((await result.json<{ value: string }>())[0]?.value);
  return bytes > 0 ? bytes : UNKNOWN_SERVER;
}

/** Whether ClickHouse ended the query because of its memory. */
export function exceedsMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code) === MEMORY_LIMIT_EXCEEDED;
}
const MEMORY_LIMIT_EXCEEDED = '241';
