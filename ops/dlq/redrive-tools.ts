import { randomUUID } from 'node:crypto';
import kafkajs, { type Admin } from 'kafkajs';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import { connectProducer } from '../../platform/kafka/producer.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { clickhouseEventsTable, type EventsTable } from '../../projections/events/events-table.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { OperatorContext } from '../operator-context.ts';
import { DeadLetterStore, type DeadLetterRow } from './dead-letter-store.ts';
import { storedItems, type RawRecordPosition } from './store-rows.ts';

export interface RedriveTools {
  store: DeadLetterStore;
  database: Database;
  reader: RangeReader;
  admin: Admin;
  eventsTable: EventsTable;
  /** Items of a raw record whose rows are stored under its position. */
  storedItems: (position: RawRecordPosition) => Promise<number[]>;
  /** Publishes to events.raw; resolves with the offset, rejects when Kafka did not acknowledge. */
  publish: (record: { partition: number; key: Buffer | null; value: Buffer }) => Promise<number>;
  /** Id of this redrive: distinguishes its dead letters from those of another process. */
  attempt: string;
  /** Epoch of the raw record that a dead letter names. */
  epochOf: (dead: DeadLetterRow) => number;
  now: () => number;
}

/**
 * A publish fails after this time: shorter than ATTEMPT_MS of recover.ts, after which another
 * redrive searches the log for the record, ms.
 */
const PUBLISH_MS = 10_000;

/** Connects to the servers of a redrive. Rejects when Kafka does not answer. */
export async function openTools({
  operator: { settings, log },
  database,
  reader,
}: {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
}): Promise<{ tools: RedriveTools; close: () => Promise<void> }> {
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-dlq')).admin();
  await admin.connect();
  const epochs = {
    raw: await readEpochs(database, TOPIC.raw),
    dead: await readEpochs(database, TOPIC.dead),
  };
  const producer = await connectProducer({
    settings,
    log,
    clientId: 'ravand-dlq',
    timeout: PUBLISH_MS,
    linger: 1,
    pollInterval: 5,
    maxQueued: { records: 1000, bytes: 64 * 1024 * 1024 },
  });
  const client = connectClickhouse({
    settings,
    name: 'ravand-dlq',
    requestTimeout: 70_000,
    connections: 2,
  });
  return {
    tools: {
      database,
      reader,
      admin,
      store: new DeadLetterStore(database),
      eventsTable: clickhouseEventsTable({ client, cluster: settings.CLICKHOUSE_CLUSTER }),
      storedItems: (position) => storedItems(client, position),
      publish: (record) => producer.publish({ topic: TOPIC.raw, ...record }),
      attempt: randomUUID(),
      // A dead letter names an offset of the log as it was when it was written.
      epochOf: (dead) =>
        epochAsOf(
          epochs.raw.of(dead.partition),
          dead.offset,
          epochs.dead.at(dead.dead_partition, dead.dead_offset),
        ),
      now: Date.now,
    },
    async close() {
      await Promise.allSettled([producer.close(PUBLISH_MS), admin.disconnect(), client.close()]);
    },
  };
}
