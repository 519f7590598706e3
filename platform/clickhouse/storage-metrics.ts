import type { ClickHouseClient } from '@clickhouse/client';
import type { Registry } from 'prom-client';
import type { Log } from '../log.ts';
import { metricsOf } from '../metrics.ts';
import { eachShard, isSharded, shardDatabase } from './shards.ts';

/** Between two readings, ms. */
const INTERVAL_MS = 30_000;
const MAX_QUERY_SECONDS = 10;

/** A value of a server, as `storageQuery` answers it. */
interface StorageRow {
  kind: 'free' | 'total' | 'parts' | 'delay_above' | 'held_inserts';
  host: string;
  /** Of the disk or table; of held inserts delayed or rejected; otherwise empty. */
  name: string;
  value: number;
}

/**
 * Space of the disks, active parts, and inserts that were slowed down or refused because of them;
 * of every replica where there is a cluster.
 */
function storageQuery(cluster: string): string {
  const system = (table: string) =>
    cluster === '' ? `system.${table}` : `clusterAllReplicas('${cluster}', system.${table})`;
  const select = (kind: StorageRow['kind'], name: string, value: string) =>
    `SELECT '${kind}' AS kind, hostName() AS host, ${name} AS name, toFloat64(${value}) AS value`;
  return [
    `${select('free', 'name', 'free_space')} FROM ${system('disks')}`,
    `${select('total', 'name', 'total_space')} FROM ${system('disks')}`,
    `SELECT kind, host, name, max(value) AS value
     FROM (${select('parts', 'table', 'count()')} FROM ${system('parts')}
       WHERE active AND database = {database:String} GROUP BY host, table, partition_id)
     GROUP BY kind, host, name`,
    `${select('delay_above', "''", 'value')} FROM ${system('merge_tree_settings')} WHERE system.merge_tree_settings.name = 'parts_to_delay_insert'`,
    `${select('held_inserts', "if(event = 'DelayedInserts', 'delayed', 'rejected')", 'value')} FROM ${system('events')} WHERE event IN ('DelayedInserts', 'RejectedInserts')`,
  ]
    .map((statement) => `SELECT kind, host, name, value FROM (${statement})`)
    .join('\nUNION ALL\n');
}

/**
 * Exposes what ClickHouse says about its storage, as of the last half minute. Nothing is exposed
 * while it does not answer: that has alerts of its own.
 * @returns stops reading
 */
export function watchStorage(options: {
  client: ClickHouseClient;
  database: string;
  cluster: string;
  registry: Registry;
  log: Log;
}): () => void {
  const { client, database, cluster, registry, log } = options;
  const show = storageMetrics(registry);
  const query = storageQuery(cluster);
  const read = async () => {
    const found: StorageRow[] = [];
    for (const shard of eachShard(client)) {
      const answer = await shard.query({
        query,
        query_params: { database: isSharded(client) ? shardDatabase(database) : database },
        format: 'JSONEachRow',
        clickhouse_settings: { max_execution_time: MAX_QUERY_SECONDS },
      });
      found.push(...(await answer.json<StorageRow>()));
    }
    return found;
  };
  let isReading = false;
  let hasFailed = false;
  const update = async () => {
    if (isReading) return;
    isReading = true;
    try {
      show(await read());
      hasFailed = false;
    } catch (error) {
      show([]);
      const message = error instanceof Error ? error.message : String(error);
      if (!hasFailed)
        log.warn(
          { code: 'storage_unread' },
          `the disks and parts of ClickHouse cannot be read (${message}): nothing alerts when they run full`,
        );
      hasFailed = true;
    }
    isReading = false;
  };
  void update();
  const timer = setInterval(() => void update(), INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

function storageMetrics(registry: Registry): (rows: readonly StorageRow[]) => void {
  const metrics = metricsOf(registry);
  const free = metrics.gauge(
    'ravand_clickhouse_disk_free_bytes',
    'Free bytes of a disk of ClickHouse.',
    ...(['host', 'disk'] as const),
  );
  const total = metrics.gauge(
    'ravand_clickhouse_disk_bytes',
    'Bytes of a disk of ClickHouse.',
    ...(['host', 'disk'] as const),
  );
  const parts = metrics.gauge(
    'ravand_clickhouse_parts',
    'Active parts of a table, in the partition that has most.',
    ...(['host', 'table'] as const),
  );
  const delayAbove = metrics.gauge(
    'ravand_clickhouse_parts_delay_above',
    'With more active parts in a partition, inserts into it are slowed down (parts_to_delay_insert).',
    'host',
  );
  const held = metrics.counter(
    'ravand_clickhouse_held_inserts_total',
    'Inserts that ClickHouse slowed down or refused because of too many parts: delayed, rejected.',
    ...(['host', 'outcome'] as const),
  );
  return (rows) => {
    for (const metric of [free, total, parts, delayAbove, held]) metric.reset();
    for (const { kind, host, name, value } of rows)
      switch (kind) {
        case 'free':
          free.set({ host, disk: name }, value);
          break;
        case 'total':
          total.set({ host, disk: name }, value);
          break;
        case 'parts':
          parts.set({ host, table: name }, value);
          break;
        case 'delay_above':
          delayAbove.set({ host }, value);
          break;
        case 'held_inserts':
          held.inc({ host, outcome: name }, value);
          break;
      }
  };
}
