import type { ClickHouseSettings } from '@clickhouse/client';
import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { readResultBytes } from '../../../platform/clickhouse/result-bytes.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import { planningOf } from '../planning.ts';
import { OutOfMemory, type EventMemory } from './event-memory.ts';
import { EventPartitions, type PartitionedEvents } from './event-partitions.ts';
import { NativeColumns } from './native-columns.ts';

/** A statement of many events; data that goes to another thread. */
export interface EventsToRead {
  accountId: number;
  compiled: CompiledQuery;
  /** Limits of the query. */
  settings: ClickHouseSettings;
  queryId: string;
  memory: EventMemory;
}

/** Reads the events of a statement into partitions of people; rejects as readResultBytes() does. */
export async function readEvents(
  clickhouse: ClickhouseSettings,
  { accountId, compiled, settings, queryId, memory }: EventsToRead,
  signal: AbortSignal,
): Promise<PartitionedEvents | 'no memory'> {
  const partitions = new EventPartitions(memory);
  const columns = new NativeColumns((people, keys, rows) => partitions.add(people, keys, rows));
  const statement = {
    ...{ accountId, queryId, signal, application: 'report-threads' },
    ...{ sql: `${compiled.sql} FORMAT Native`, params: compiled.params },
    settings: {
      ...planningOf(compiled.sql),
      ...settings,
      cancel_http_readonly_queries_on_client_close: 1 as const,
    },
  };
  try {
    await readResultBytes(clickhouse, statement, (bytes) => columns.read(bytes));
    columns.end();
    return partitions.events;
  } catch (error) {
    if (error instanceof OutOfMemory) return 'no memory';
    throw error;
  }
}
