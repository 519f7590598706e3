import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { classify, type Outcome } from './classify.ts';
import { COLUMNS, container } from './container.ts';
import { partitionPositionKey } from '../../schemas/log-position.ts';
import { lookups } from './read-back.ts';
import type { Row } from './rows.ts';

export interface Insert {
  /** ClickHouse drops a block whose token it has seen, month by month. */
  token: string;
  /** Names the attempt, so that it can be found and ended. */
  queryId: string;
  count: number;
  datums: readonly Buffer[];
}

/** ClickHouse as the sink needs it. */
export interface Warehouse {
  /** Never rejects for what ClickHouse or the network did: the outcome says it. */
  insert(insert: Insert, signal: AbortSignal): Promise<Outcome>;
  /**
   * Ends what still runs under query ids that begin with `prefix`. Rejects when it cannot be made
   * sure that nothing does.
   */
  endQueries(prefix: string): Promise<void>;
  /**
   * Keys (`markKey`) of those rows that are stored, and ClickHouse's clock after it looked, s since
   * the epoch. Rejects when it does not answer.
   */
  stored(partition: number, rows: readonly Row[]): Promise<{ keys: Set<string>; now: number }>;
}

interface WarehouseOptions {
  client: ClickHouseClient;
  /** Name of the cluster; empty: one server. */
  cluster: string;
  /** A table like `events`, which is the default. */
  table?: string;
}

/**
 * Everything that decides what an insert does is said here, so that a server's defaults cannot
 * change it, and a repeat does the same. One insert is one block (no splitting, no squashing with
 * others): within a month it is stored wholly or not at all, under its token.
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
  input_format_avro_allow_missing_fields: 0,
  deduplicate_blocks_in_dependent_materialized_views: 0,
  // A twin that nobody waits for ends by itself.
  max_execution_time: 60,
};

/**
 * On a cluster: answered when the shards and a quorum of their replicas have it, in an order that a
 * sequential read can see.
 */
const CLUSTER_INSERT: ClickHouseSettings = {
  distributed_foreground_insert: '1',
  insert_distributed_timeout: '60',
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  insert_quorum_timeout: 30_000,
};

const READ_SETTINGS: ClickHouseSettings = {
  max_execution_time: 60,
  max_result_rows: '0',
  use_query_cache: 0,
};

export function clickhouseWarehouse({
  client,
  cluster,
  table = 'events',
}: WarehouseOptions): Warehouse {
  const onCluster = cluster !== '';
  const query = `INSERT INTO ${table} (${COLUMNS.join(', ')}) FORMAT Avro`;
  const insertSettings: ClickHouseSettings = onCluster
    ? { ...INSERT_SETTINGS, ...CLUSTER_INSERT }
    : INSERT_SETTINGS;
  const readSettings: ClickHouseSettings = onCluster
    ? { ...READ_SETTINGS, select_sequential_consistency: '1' }
    : READ_SETTINGS;
  const rowsOf = async <T>(sql: string): Promise<T[]> => {
    const answer = await client.query({
      query: sql,
      format: 'JSONCompactEachRow',
      clickhouse_settings: readSettings,
    });
    return answer.json<T>();
  };
  return {
    async insert({ token, queryId, count, datums }, signal) {
      try {
        const answer = await client.exec({
          query,
          values: Readable.from([container({ token, count, datums })], { objectMode: false }),
          query_id: queryId,
          abort_signal: signal,
          clickhouse_settings: { ...insertSettings, insert_deduplication_token: token },
        });
        const said = (await text(answer.stream)).trim();
        // An insert that succeeded says nothing: an error that came after the status line stands in
        // the body.
        return said === ''
          ? { kind: 'stored' }
          : { kind: 'uncertain', error: new Error(said.slice(0, 500)) };
      } catch (error) {
        return classify(error);
      }
    },

    async endQueries(prefix) {
      const where = onCluster
        ? `startsWith(initial_query_id, ${literal(prefix)})`
        : `startsWith(query_id, ${literal(prefix)})`;
      const target = onCluster ? `ON CLUSTER ${literal(cluster)} ` : '';
      await client.command({
        query: `KILL QUERY ${target}WHERE ${where} SYNC`,
        clickhouse_settings: { max_execution_time: 20 },
      });
      const processes = onCluster
        ? `clusterAllReplicas(${literal(cluster)}, system.processes)`
        : 'system.processes';
      const running = await rowsOf<[string]>(
        `SELECT query_id FROM ${processes} WHERE ${where} LIMIT 1`,
      );
      if (running.length > 0) throw new Error(`the insert ${running[0]?.[0] ?? ''} still runs`);
    },

    async stored(partition, rows) {
      const keys = new Set<string>();
      for (const sql of lookups({ table, partition }, rows)) {
        for (const [epoch, offset, index] of await rowsOf<[number, number, number]>(sql))
          keys.add(partitionPositionKey({ epoch, offset, index }));
      }
      const [clock] = await rowsOf<[number]>('SELECT toUnixTimestamp(now())');
      if (!clock) throw new Error('ClickHouse did not tell its time');
      return { keys, now: clock[0] };
    },
  };
}

function literal(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
