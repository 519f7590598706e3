import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ALL_REPLICAS, onAllReplicas, QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import type { EncodedRow } from './decode.ts';
import { nativeBlock, type NativeBlock } from './native/block.ts';
import { eachShard, isSharded } from '../../platform/clickhouse/shards.ts';

export interface Insert {
  /** ClickHouse drops a block whose token it knows, month by month. */
  token: string;
  /** Identifies the attempt, so that it can be found and killed. */
  queryId: string;
  /** Of event-row, of all rows. */
  version: number;
  count: number;
  datums: readonly Buffer[];
}

export type InsertOutcome =
  | { kind: 'stored' }
  /** The rows, or values of them, are wrong: nothing was stored, and a retry fails again. */
  | { kind: 'refused'; code: string; detail: string }
  /** Nothing reached ClickHouse. */
  | { kind: 'unsent'; error: Error }
  /** Stored, stored for some months only, not stored, or still running. */
  | { kind: 'uncertain'; error: Error };

/** The table `events`, or one with the same columns, as the sink uses it. */
export interface EventsTable {
  /** Never rejects because of ClickHouse or the network: the outcome reports it. */
  insert(insert: Insert, signal: AbortSignal): Promise<InsertOutcome>;
  /** Kills queries whose id begins with `prefix`. Rejects when one may still run. */
  endQueries(prefix: string): Promise<void>;
  /**
   * Keys (`partitionPositionKey`) of those rows that are stored on any replica, and ClickHouse's
   * clock after the query, s since the epoch. Rejects when ClickHouse, or one of its replicas, does
   * not answer.
   */
  stored(
    partition: number,
    rows: readonly EncodedRow[],
  ): Promise<{ keys: Set<string>; now: number }>;
}

/**
 * Every setting that changes the effect of an insert is explicit, so that a server's defaults
 * cannot alter it and a repeat has the same effect. One insert is one block, neither split nor
 * squashed with others: each month of it is stored completely or not at all, under its token.
 */
const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  insert_deduplicate: 1,
  max_insert_block_size: '10000000',
  min_insert_block_size_rows: '0',
  min_insert_block_size_bytes: '0',
  max_insert_threads: '1',
  max_partitions_per_insert_block: '0',
  input_format_parallel_parsing: 0,
  // Columns whose rows are all empty are left out, and get the default of their type.
  input_format_native_allow_types_conversion: 1,
  deduplicate_blocks_in_dependent_materialized_views: 0,
  // Ends an insert whose client is gone.
  max_execution_time: 60,
};

const READ_SETTINGS: ClickHouseSettings = {
  max_execution_time: 60,
  max_result_rows: '0',
  use_query_cache: 0,
};

/** @param options `cluster`: name of the cluster; empty: one server */
export function clickhouseEventsTable(options: {
  client: ClickHouseClient;
  cluster: string;
  table?: string;
}): EventsTable {
  const { client, cluster, table = 'events' } = options;
  const onCluster = cluster !== '';
  const insertSettings = onCluster ? { ...INSERT_SETTINGS, ...QUORUM_INSERT } : INSERT_SETTINGS;
  const readSettings: ClickHouseSettings = onCluster
    ? { ...READ_SETTINGS, ...ALL_REPLICAS }
    : READ_SETTINGS;
  const select = async <T>(query: string): Promise<T[]> => {
    const clickhouse_settings = readSettings;
    const answer = await client.query({ query, format: 'JSONCompactEachRow', clickhouse_settings });
    return answer.json<T>();
  };
  return {
    async insert({ token, queryId, version, count, datums }, signal) {
      let block: NativeBlock;
      try {
        block = nativeBlock({ version, count, datums });
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return { kind: 'refused', code: UNREADABLE, detail: error.message };
      }
      try {
        const answer = await client.exec({
          query: `INSERT INTO ${table} (${block.columns.join(', ')}) FORMAT Native`,
          values: Readable.from(block.parts, { objectMode: false }),
          query_id: queryId,
          abort_signal: signal,
          clickhouse_settings: { ...insertSettings, insert_deduplication_token: token },
        });
        // A successful insert has an empty body; an error after the status line is in the body.
        const body = (await text(answer.stream)).trim();
        return body === ''
          ? { kind: 'stored' }
          : { kind: 'uncertain', error: new Error(body.slice(0, 500)) };
      } catch (error) {
        return classify(error);
      }
    },

    async endQueries(prefix) {
      if (isSharded(client)) return endOnShards(eachShard(client), prefix);
      const where = `startsWith(${onCluster ? 'initial_query_id' : 'query_id'}, ${literal(prefix)})`;
      await client.command({
        query: `KILL QUERY ${onCluster ? `ON CLUSTER ${literal(cluster)} ` : ''}WHERE ${where} SYNC`,
        clickhouse_settings: { max_execution_time: 20 },
      });
      const processes = onCluster
        ? `clusterAllReplicas(${literal(cluster)}, system.processes)`
        : 'system.processes';
      const [running] = await select<[string]>(
        `SELECT query_id FROM ${processes} WHERE ${where} LIMIT 1`,
      );
      if (running) throw new Error(`the insert ${running[0]} still runs`);
    },

    async stored(partition, rows) {
      const keys = new Set<string>();
      for (const query of lookups({ table: onAllReplicas(table, cluster), partition }, rows)) {
        for (const [epoch, offset, index] of await select<[number, number, number]>(query))
          keys.add(partitionPositionKey({ epoch, offset, index }));
      }
      const [clock] = await select<[number]>('SELECT toUnixTimestamp(now())');
      if (!clock) throw new Error('ClickHouse returned no time');
      return { keys, now: clock[0] };
    },
  };
}

/**
 * Twice on every shard: after the first time no query of the prefix sends to other shards any more.
 * A shard knows an insert that it is sent before it has its rows, so what the second time does not
 * find has ended.
 */
async function endOnShards(shards: readonly ClickHouseClient[], prefix: string): Promise<void> {
  const where = `startsWith(initial_query_id, ${literal(prefix)})`;
  for (let time = 0; time < 2; time++)
    await Promise.all(
      shards.map((shard) =>
        shard.command({
          query: `KILL QUERY WHERE ${where} SYNC`,
          clickhouse_settings: { max_execution_time: 20 },
        }),
      ),
    );
  for (const shard of shards) {
    const query = `SELECT query_id FROM system.processes WHERE ${where} LIMIT 1`;
    const answer = await shard.query({ query, format: 'JSONCompactEachRow' });
    const [running] = await answer.json<[string]>();
    if (running) throw new Error(`the insert ${running[0]} still runs`);
  }
}

/**
 * ClickHouse's codes that blame values of the rows. Only these send rows to events.dead; every
 * other code is retried: a wrong guess there costs time, a wrong guess here loses good rows.
 */
const VALUE_ERRORS = new Map<string, string>([
  ['6', 'CANNOT_PARSE_TEXT'],
  ['26', 'CANNOT_PARSE_QUOTED_STRING'],
  ['27', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED'],
  ['33', 'CANNOT_READ_ALL_DATA'],
  ['38', 'CANNOT_PARSE_DATE'],
  ['41', 'CANNOT_PARSE_DATETIME'],
  ['69', 'ARGUMENT_OUT_OF_BOUND'],
  ['70', 'CANNOT_CONVERT_TYPE'],
  ['72', 'CANNOT_PARSE_NUMBER'],
  ['117', 'INCORRECT_DATA'],
  ['128', 'TOO_LARGE_ARRAY_SIZE'],
  ['131', 'TOO_LARGE_STRING_SIZE'],
  ['190', 'SIZES_OF_ARRAYS_DONT_MATCH'],
  ['321', 'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE'],
  ['407', 'DECIMAL_OVERFLOW'],
  ['467', 'CANNOT_PARSE_BOOL'],
  ['469', 'VIOLATED_CONSTRAINT'],
]);

/** The bytes are not the rows that their record announces. */
const UNREADABLE = 'UNREADABLE_ROWS';

/** The connection was never established, so nothing was sent. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** What a failed insert means for its rows. */
export function classify(cause: unknown): Exclude<InsertOutcome, { kind: 'stored' }> {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (UNSENT.has(code)) return { kind: 'unsent', error };
  const refusal = VALUE_ERRORS.get(code);
  if (refusal !== undefined) return { kind: 'refused', code: refusal, detail: error.message };
  return { kind: 'uncertain', error };
}

/** Keys (account, event, day) per query: keeps a query far below ClickHouse's size limit. */
const KEYS_PER_QUERY = 500;

/** Between these the column type and JavaScript agree on the day of a timestamp, ms. */
const DAYS_FROM = 0;
const DAYS_UNTIL = Date.UTC(2100, 0, 1);

/**
 * Queries that find which rows are stored. The predicates are the rows' own account, event and day,
 * so each query uses the primary key, however large the table is.
 */
export function lookups(
  source: { table: string; partition: number },
  rows: readonly EncodedRow[],
): string[] {
  const hasDay = ({ timestamp }: EncodedRow) => timestamp >= DAYS_FROM && timestamp < DAYS_UNTIL;
  const dated = Map.groupBy(
    rows.filter(hasDay),
    (row) => `${row.account_id}, ${literal(row.event)}, '${dayOf(row.timestamp)}'`,
  );
  const undated = Map.groupBy(
    rows.filter((row) => !hasDay(row)),
    ({ account_id, event }) => `${account_id}, ${literal(event)}`,
  );
  return [
    ...queries(source, dated, 'account_id, event, toDate(timestamp)'),
    ...queries(source, undated, 'account_id, event'),
  ];
}

function queries(
  { table, partition }: { table: string; partition: number },
  rowsByKey: ReadonlyMap<string, readonly EncodedRow[]>,
  columns: string,
): string[] {
  const all = [...rowsByKey];
  return Array.from({ length: Math.ceil(all.length / KEYS_PER_QUERY) }, (_, at) => {
    const some = all.slice(at * KEYS_PER_QUERY, (at + 1) * KEYS_PER_QUERY);
    const rows = some.flatMap(([, group]) => group);
    const [fromTime, toTime] = minMax(rows.map(({ timestamp }) => timestamp));
    const [fromOffset, toOffset] = minMax(rows.map(({ position }) => position.offset));
    return `SELECT _epoch, _offset, _index FROM ${table}
WHERE (${columns}) IN (${some.map(([key]) => `(${key})`).join(', ')})
AND timestamp BETWEEN fromUnixTimestamp64Milli(${fromTime}, 'UTC') AND fromUnixTimestamp64Milli(${toTime}, 'UTC')
AND _partition = ${partition} AND _offset BETWEEN ${fromOffset} AND ${toOffset}`;
  });
}

function minMax(values: readonly number[]): [number, number] {
  return [
    values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
  ];
}

function dayOf(timestamp: number): string {
  return new Date(timestamp).toISOString().slice(0, 10);
}

function literal(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
