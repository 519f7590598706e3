import type { ClickHouseClient } from '@clickhouse/client';
import { offsetAfter, readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { FIRST_ADDED_CHUNK } from './added.ts';
import { CatalogueCounter, cellKey, type StoredChunk } from './count.ts';
import { readCountedEvents } from './read-events.ts';
import { ALL_REPLICAS, onAllReplicas, QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';

interface CatalogueTaskOptions {
  client: ClickHouseClient;
  cluster: string;
  table: string;
  log: Log;
  partition: number;
  /** Offset of the group: after the log went back it is before the newest chunk. */
  committed: number | undefined;
  /** Aborts when the partition is revoked. */
  signal: AbortSignal;
  counted(events: number): void;
}

/**
 * Counts one partition. Starts with the newest chunk that has rows, which it counts again from its
 * first record. Commits offsets after ClickHouse stored the counts.
 */
export async function openCatalogueTask(parts: CatalogueTaskOptions): Promise<PartitionTask> {
  const { client, cluster, table, log, partition, committed, signal } = parts;
  const retrying = <T>(what: string, work: () => Promise<T>) =>
    retryUntilAborted({ log, signal, code: 'clickhouse_unreachable', what }, work);
  const newest = await retrying('finding the newest chunk of the catalogue', async () => {
    const query = `SELECT _epoch, chunk, chunk_from FROM ${onAllReplicas(table, cluster)} WHERE _partition = {partition:UInt16} AND chunk < ${FIRST_ADDED_CHUNK} ORDER BY _epoch DESC, chunk DESC LIMIT 1`;
    const answer = await client.query({
      query,
      query_params: { partition },
      format: 'JSONEachRow',
      clickhouse_settings: ALL_REPLICAS,
    });
    const [row] = await answer.json<NewestChunk>();
    return row;
  });
  const counter = new CatalogueCounter(
    partition,
    newest && { epoch: newest._epoch, chunk: newest.chunk },
  );
  let isCompared = false;
  return {
    // Without a row nothing was counted: read the whole topic.
    from: Math.min(newest?.chunk_from ?? 0, committed ?? Number.POSITIVE_INFINITY),
    processed: committed,
    async process(messages) {
      const [first] = messages;
      if (newest && !isCompared && first) {
        isCompared = true;
        if (first.offset > newest.chunk_from)
          counter.resume(
            await retrying('reading the newest chunk of the catalogue', () =>
              storedChunk(parts, newest),
            ),
          );
      }
      for (const message of messages) {
        const rows = readOrSkip(message, readCountedEvents, {
          log,
          warning: 'a record cannot be decoded and is not counted; see events.dead',
        });
        counter.add(message.offset, rows);
        parts.counted(rows.length);
      }
      const values = counter
        .changed()
        .map((row) => ({ ...row, last_seen: new Date(row.last_seen).toISOString() }));
      if (values.length > 0) {
        const clickhouse_settings = {
          async_insert: 0 as const,
          ...(cluster === '' ? {} : QUORUM_INSERT),
        };
        await retrying('writing the catalogue', () =>
          client.insert({
            table,
            values,
            format: 'JSONEachRow',
            abort_signal: signal,
            clickhouse_settings,
          }),
        );
      }
      return offsetAfter(messages);
    },
    release: () => Promise.resolve(),
  };
}

interface NewestChunk {
  _epoch: number;
  chunk: number;
  chunk_from: number;
}

async function storedChunk(
  { client, cluster, table, partition }: CatalogueTaskOptions,
  { _epoch, chunk, chunk_from: from }: NewestChunk,
): Promise<StoredChunk> {
  const answer = await client.query({
    query: `SELECT account_id, toUInt32(day) AS number, event, argMax(count, version) AS n, max(version) AS newest FROM ${onAllReplicas(table, cluster)}
      WHERE _partition = {partition:UInt16} AND _epoch = {_epoch:UInt16} AND chunk = {chunk:UInt64} GROUP BY account_id, day, event`,
    query_params: { partition, _epoch, chunk },
    format: 'JSONEachRow',
    clickhouse_settings: ALL_REPLICAS,
  });
  const rows = await answer.json<{
    account_id: number;
    number: number;
    event: string;
    n: number;
    newest: number;
  }>();
  return {
    from,
    version: rows.reduce((most, { newest }) => Math.max(most, newest), 0),
    counts: new Map(rows.map((row) => [cellKey(row.account_id, row.number, row.event), row.n])),
  };
}
