import { ALL_REPLICAS, onAllReplicas } from '../../platform/clickhouse/replicas.ts';
import type { ClickHouseClient } from '@clickhouse/client';
import type { RawEvent } from '../../pipeline/replay/raw-events.ts';
import {
  compareEventOffsets,
  partitionPositionKey,
  type PartitionPosition,
} from '../../schemas/log-position.ts';
import { COMPARED_COLUMNS as COLUMNS } from '../../projections/events/insert-batch.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { Log } from '../../platform/log.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import type { EventsTable } from '../../projections/events/events-table.ts';
import { storeOnce } from '../../projections/events/store-once.ts';
import { eventRowCodec } from '../../schemas/codec.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';

/** Queries of a table like `events`; sequentially consistent on a cluster. */
export interface StoredRows {
  /**
   * The rows at the positions of these events, by `storedKey`, in the form of `rowTexts`. The
   * events must be of one partition.
   */
  byPosition(events: readonly Omit<RawEvent, 'row'>[]): Promise<Map<string, readonly string[]>>;
  /** The events whose dedupe key is stored at another position within the dedupe window. */
  withDuplicate(events: readonly RawEvent[]): Promise<Set<RawEvent>>;
}

const TIMES = new Set(['timestamp', 'received_at']);
const SELECTED = COLUMNS.map((column) =>
  TIMES.has(column) ? `toUnixTimestamp64Milli(${column})` : column,
);
const KEYS_PER_QUERY = 300;

/** Each compared column of a row as a text; equal texts mean equal values. */
export function rowTexts(row: EventRow): string[] {
  return COLUMNS.map((column) => valueText(row[column as keyof EventRow]));
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([key, one]: [string, unknown]): [string, unknown] => [
    key.toWellFormed(),
    typeof one === 'string' ? one.toWellFormed() : one,
  ]);
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The columns that differ between two rows. */
export function differingColumns(a: readonly string[], b: readonly string[]): string[] {
  return COLUMNS.filter((_, at) => a[at] !== b[at]);
}

export function storedRows(options: {
  client: ClickHouseClient;
  cluster: string;
  table: string;
  window: number;
}): StoredRows {
  const { client, window } = options;
  const table = onAllReplicas(options.table, options.cluster);
  const clickhouse_settings = {
    max_execution_time: 120,
    use_query_cache: 0 as const,
    output_format_json_quote_64bit_integers: 0 as const,
    ...ALL_REPLICAS,
  };
  const query = async <T>(query: string, query_params: Record<string, unknown>): Promise<T[]> => {
    const answer = await client.query({
      query,
      query_params,
      format: 'JSONCompactEachRow',
      clickhouse_settings,
    });
    return answer.json<T>();
  };
  return {
    async byPosition(events) {
      const found = new Map<string, readonly string[]>();
      const [first] = events;
      if (!first) return found;
      const offsets = events.map(({ at }) => at.offset);
      const received = events.map(({ receivedAt }) => receivedAt);
      // Queries by facts of the raw record only: today's normalisation may sort the row elsewhere.
      const rows = await query<unknown[]>(
        `SELECT ${SELECTED.join(', ')} FROM ${table} WHERE account_id IN {accounts:Array(UInt64)} AND _partition = {partition:UInt16} AND _offset BETWEEN {from:UInt64} AND {to:UInt64}
         AND received_at BETWEEN fromUnixTimestamp64Milli({first:Int64}, 'UTC') AND fromUnixTimestamp64Milli({last:Int64}, 'UTC')`,
        {
          accounts: [...new Set(events.map(({ accountId }) => accountId))],
          partition: first.partition,
          ...boundsOf('from', 'to', offsets),
          ...boundsOf('first', 'last', received),
        },
      );
      const columnAt = (row: readonly unknown[], column: string) =>
        Number(row[COLUMNS.indexOf(column)]);
      for (const row of rows)
        found.set(
          partitionPositionKey({
            epoch: columnAt(row, '_epoch'),
            offset: columnAt(row, '_offset'),
            index: columnAt(row, '_index'),
          }),
          row.map(valueText),
        );
      return found;
    },

    async withDuplicate(events) {
      const duplicates = new Set<RawEvent>();
      for (let from = 0; from < events.length; from += KEYS_PER_QUERY) {
        const some = events.slice(from, from + KEYS_PER_QUERY);
        const keys = some.map(({ row }) => row?._dedupe_id ?? '').filter((key) => key !== '');
        const messages = some
          .filter(({ row }) => row?._dedupe_id === '')
          .map(({ messageId }) => messageId);
        const { first, last } = boundsOf(
          'first',
          'last',
          some.map(({ receivedAt }) => receivedAt),
        ) as { first: number; last: number };
        const rows = await query<[number, string, string, number, number, number, number, number]>(
          `SELECT account_id, message_id, _dedupe_id, _epoch, _partition, _offset, _index, toUnixTimestamp64Milli(received_at) FROM ${table}
           WHERE account_id IN {accounts:Array(UInt64)} AND received_at BETWEEN fromUnixTimestamp64Milli({first:Int64}, 'UTC') AND fromUnixTimestamp64Milli({last:Int64}, 'UTC')
             AND (message_id IN {messages:Array(String)} AND _dedupe_id = '' OR _dedupe_id IN {keys:Array(String)} AND _dedupe_id != '')`,
          {
            accounts: [...new Set(some.map(({ accountId }) => accountId))],
            first: first - window,
            last: last + window,
            messages,
            keys,
          },
        );
        const byKey = Map.groupBy(rows, ([account, message, key]) => keyOf(account, message, key));
        for (const event of some) {
          const same =
            byKey.get(keyOf(event.accountId, event.messageId, event.row?._dedupe_id ?? '')) ?? [];
          const isDuplicate = same.some(
            ([, , , epoch, partition, offset, index, receivedAt]) =>
              Math.abs(receivedAt - event.receivedAt) < window &&
              (partition !== event.partition ||
                epoch !== event.epoch ||
                compareEventOffsets({ offset, index }, event.at) !== 0),
          );
          if (isDuplicate) duplicates.add(event);
        }
      }
      return duplicates;
    },
  };
}

/** The position of an event within its partition, as the key of its stored row. */
export function storedKey({ epoch, at }: Pick<RawEvent, 'epoch' | 'at'>): string {
  return partitionPositionKey({ epoch, ...at });
}

function keyOf(account: number, message: string, key: string): string {
  return key === '' ? `${account} m ${message}` : `${account} a ${key}`;
}

function boundsOf(low: string, high: string, values: readonly number[]): Record<string, number> {
  return {
    [low]: values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    [high]: values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  };
}

interface WriteOptions {
  eventsTable: EventsTable;
  log: Log;
  signal: AbortSignal;
  ownerEpoch: number;
  /** Rejects when another process owns the job. */
  confirm(): Promise<void>;
}

/**
 * Stores rows of one partition exactly once: ends running inserts of the token, reads back what is
 * stored and inserts the rest, as a sink recovers a range (projections/events/EXACTLY-ONCE.md). A
 * token always means the same recorded range. Returns how many rows ClickHouse refuses.
 */
export async function storeRows(
  options: WriteOptions,
  batch: { token: string; partition: number; rows: readonly EventRow[] },
): Promise<{ refused: number }> {
  const rows = batch.rows.map(rowOf);
  const { refused } = await storeOnce(
    { ...options, onRecover: () => undefined },
    {
      version: NEWEST_ROW_VERSION,
      token: batch.token,
      partition: batch.partition,
      count: rows.length,
      datums: rows.map(({ datum }) => datum),
      rows: () => rows,
    },
    true,
  );
  return { refused: refused.length };
}

function rowOf(row: EventRow): EncodedRow {
  const position: PartitionPosition = { epoch: row._epoch, offset: row._offset, index: row._index };
  const { account_id, event, message_id, timestamp, received_at } = row;
  return {
    position,
    account_id,
    event,
    message_id,
    timestamp,
    received_at,
    datum: eventRowCodec.type.toBuffer(row),
  };
}
