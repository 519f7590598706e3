import { TOPIC } from '../../schemas/topology.ts';
import { randomUUID } from 'node:crypto';
import kafkajs, { type Admin } from 'kafkajs';
import type { ClickHouseClient } from '@clickhouse/client';
import { CURRENT_EPOCH } from '../../schemas/log-position.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { OperatorContext } from '../operator-context.ts';
import { quotaMonth } from '../../events/tehran-time.ts';
import { DeadLetterStore } from './dead-letter-store.ts';
import type { RedriveTools } from './redrive.ts';
import { storedItems, eventsTableOf } from './store-rows.ts';

/**
 * A record that is not acknowledged by then has failed: shorter than what the next run waits before
 * it looks the record up, ms.
 */
const PUBLISH_MS = 10_000;

export interface OpenedTools {
  tools: RedriveTools;
  close: () => Promise<void>;
}

/** Connects what a redrive needs. Rejects when Kafka does not answer. */
export async function openTools(options: {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
}): Promise<OpenedTools> {
  const { operator, database, reader } = options;
  const { settings, log } = operator;
  const admin: Admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-dlq')).admin();
  await admin.connect();
  const maxQueued = { records: 1000, bytes: 64 * 1024 * 1024 };
  const producer: LogProducer = await connectProducer({
    settings,
    log,
    clientId: 'ravand-dlq',
    timeout: PUBLISH_MS,
    linger: 1,
    pollInterval: 5,
    maxQueued,
  });
  const clickhouse: ClickHouseClient = connectClickhouse({
    settings,
    name: 'ravand-dlq',
    requestTimeout: 70_000,
    connections: 2,
  });
  return {
    tools: {
      ...{ database, reader, admin },
      store: new DeadLetterStore(database),
      eventsTable: eventsTableOf(clickhouse, settings.CLICKHOUSE_CLUSTER),
      storedItems: (place) => storedItems(clickhouse, place),
      publish: ({ partition, key, value }) =>
        producer.publish({ topic: TOPIC.raw, partition, key, value }),
      attempt: randomUUID(),
      epoch: CURRENT_EPOCH,
      month: (at) => quotaMonth(at).key,
      now: Date.now,
    },
    async close() {
      await Promise.allSettled([
        producer.close(PUBLISH_MS),
        admin.disconnect(),
        clickhouse.close(),
      ]);
    },
  };
}
