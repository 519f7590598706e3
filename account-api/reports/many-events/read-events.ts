import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { readResultBytes } from '../../../platform/clickhouse/result-bytes.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { planningOf } from '../planning.ts';
import type { EventCounter } from './event-counter.ts';
import { NativeColumns } from './native-columns.ts';
import type { ServerThreads } from './server-threads.ts';

/** A statement of many events; data that goes to another thread. */
export interface EventsToRead {
  accountId: number;
  compiled: CompiledQuery;
  /** Limits of the query. */
  settings: ClickHouseSettings;
  queryId: string;
  /** The number of its slice. */
  slice: number;
  /** How many statements of the report run at a time. */
  atOnce: number;
}

interface Reader {
  clickhouse: ClickhouseSettings;
  counter: EventCounter;
  serverThreads: ServerThreads;
  signal: AbortSignal;
}

/**
 * Reads the events of a statement into partitions of people; answers how many. Rejects as
 * readResultBytes() does, or with OutOfMemory.
 */
export async function readEvents(
  { accountId, compiled, settings, queryId, slice, atOnce }: EventsToRead,
  { clickhouse, counter, serverThreads, signal }: Reader,
): Promise<number> {
  const columns = new NativeColumns((people, keys) => counter.add(slice, people, keys));
  const asker = { accountId, queryId, signal, application: 'report-threads' };
  const statement = {
    ...asker,
    ...{ sql: `${compiled.sql} FORMAT Native`, params: compiled.params },
    settings: {
      ...planningOf(compiled.sql),
      ...settings,
      max_threads: await serverThreads.share(atOnce, asker),
      cancel_http_readonly_queries_on_client_close: 1 as const,
    },
  };
  await readResultBytes(clickhouse, statement, (bytes) => columns.read(bytes));
  columns.end();
  return columns.rows;
}
