import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { readResultBytes } from '../../../platform/clickhouse/result-bytes.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { planningOf } from '../planning.ts';
import type { EventCounter } from './event-counter.ts';
import { NativeColumns } from './native-columns.ts';

/** A statement of many events; data that goes to another thread. */
export interface EventsToRead {
  accountId: number;
  compiled: CompiledQuery;
  /** Limits of the query. */
  settings: ClickHouseSettings;
  queryId: string;
  /** The number of its slice. */
  slice: number;
}

interface Reader {
  clickhouse: ClickhouseSettings;
  counter: EventCounter;
  signal: AbortSignal;
}

/**
 * Reads the events of a statement into partitions of people; answers how many. Rejects as
 * readResultBytes() does, or with OutOfMemory.
 */
export async function readEvents(
  { accountId, compiled, settings, queryId, slice }: EventsToRead,
  { clickhouse, counter, signal }: Reader,
): Promise<number> {
  const columns = new NativeColumns((people, keys) => counter.add(slice, people, keys));
  const statement = {
    ...{ accountId, queryId, signal, application: 'report-threads' },
    ...{ sql: `${compiled.sql} FORMAT Native`, params: compiled.params },
    settings: {
      ...planningOf(compiled.sql),
      ...settings,
      cancel_http_readonly_queries_on_client_close: 1 as const,
    },
  };
  await readResultBytes(clickhouse, statement, (bytes) => columns.read(bytes));
  columns.end();
  return columns.rows;
}
