import type { ClickHouseClient } from '@clickhouse/client';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import type { TopicEpochs } from '../../platform/log/epochs.ts';
import type { Log } from '../../platform/log.ts';
import { insertRows } from './insert-rows.ts';
import { messageRows } from './rows.ts';

/** Offsets `from` (included) to `to` (not included) of a partition of messages.outcomes. */
export interface OutcomeRange {
  partition: number;
  from: number;
  to: number;
}

interface MessagesRebuild {
  client: Pick<ClickHouseClient, 'insert'>;
  cluster: string;
  table: string;
  log: Log;
  epochs: TopicEpochs;
  /** ms since the epoch: messages that were planned before are not kept. */
  keptFrom: (accountId: number) => number;
  ranges: readonly OutcomeRange[];
  /** The records of a range, in batches. */
  read: (range: OutcomeRange) => AsyncIterable<readonly ConsumedMessage[]>;
  /** The partition is stored up to this offset. */
  stored: (partition: number, next: number, counts: { records: number; rows: number }) => void;
}

/**
 * Fills a table like `messages` from messages.outcomes. Idempotent: a row written again replaces
 * itself.
 */
export async function rebuildMessages(options: MessagesRebuild): Promise<void> {
  const { client, cluster, table, log, epochs, keptFrom, read, stored } = options;
  for (const range of options.ranges) {
    const { partition } = range;
    if (range.from >= range.to) continue;
    for await (const messages of read(range)) {
      const rows = messageRows(messages, { epochs: epochs.of(partition), log, keptFrom });
      await insertRows(client, { table, cluster, rows });
      const last = messages.at(-1);
      if (last) stored(partition, last.offset + 1, { records: messages.length, rows: rows.length });
    }
  }
}
