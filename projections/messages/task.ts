import type { ClickHouseClient } from '@clickhouse/client';
import { batchTask } from '../../platform/kafka/batch-task.ts';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { PROJECTIONS, TOPIC } from '../../schemas/topology.ts';
import { insertRows } from './insert-rows.ts';
import { messageRows, type MessageRow } from './rows.ts';

export interface MessagesDeps {
  clickhouse: Pick<ClickHouseClient, 'insert'>;
  database: Pick<Database, 'query'>;
  /** CLICKHOUSE_CLUSTER */
  cluster: string;
  log: Log;
  signal: AbortSignal;
  metrics: {
    stored(rows: readonly Pick<MessageRow, 'channel' | 'status' | 'reason'>[]): void;
    unreadable(): void;
  };
}

/**
 * Writes the outcomes of one partition. Commits after ClickHouse stored them: what a crash repeats
 * replaces itself. Retries while a server is unavailable.
 */
export async function messagesTask(deps: MessagesDeps, partition: number): Promise<PartitionTask> {
  const { clickhouse, database, cluster, log, signal, metrics } = deps;
  const waiting = { log, signal };
  const epochs = await retryUntilAborted(
    { ...waiting, code: 'postgres_unreachable', what: 'reading the epochs of the log' },
    () => readEpochs(database, TOPIC.messagesOutcomes),
  );
  return batchTask(async (messages) => {
    const rows = messageRows(messages, {
      ...{ epochs: epochs.of(partition), log },
      onUnreadable: () => metrics.unreadable(),
    });
    const { table } = PROJECTIONS.messages;
    await retryUntilAborted(
      { ...waiting, code: 'clickhouse_unreachable', what: 'writing the outcomes of messages' },
      () => insertRows(clickhouse, { table, cluster, rows }),
    );
    metrics.stored(rows);
  });
}
