import { randomUUID } from 'node:crypto';
import kafkajs, { type Admin } from 'kafkajs';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import type { ErasedPeople } from '../../events/erasure/erased-people.ts';
import { readErasures } from '../../platform/log/erasures.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import { connectProducer } from '../../platform/kafka/producer.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { clickhouseEventsTable, type EventsTable } from '../../projections/events/events-table.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { OperatorContext } from '../operator-context.ts';
import { DeadLetterStore, type DeadLetterRow } from './dead-letter-store.ts';
import { nextDeadLetter } from './read-dead-letter.ts';
import { RecordCursor } from './record-cursor.ts';
import { storedItems, storedItemsLoader, type RawRecordPosition } from './stored-items.ts';

export interface RedriveTools {
  store: DeadLetterStore;
  database: Database;
  /** One read at a time, whoever asks. */
  reader: Pick<RangeReader, 'search'>;
  /** Reads a dead letter from events.dead, best in their order; undefined: no longer there. */
  deadLetter: (known: DeadLetterRow) => Promise<DeadLetter | undefined>;
  admin: Admin;
  eventsTable: EventsTable;
  /** Items of a raw record whose rows are stored under its position. One query for many. */
  storedItems: (position: RawRecordPosition) => Promise<readonly number[]>;
  /** Publishes to events.raw; resolves with the offset, rejects when Kafka did not acknowledge. */
  publish: (record: { partition: number; key: Buffer | null; value: Buffer }) => Promise<number>;
  /** Id of this redrive: distinguishes its dead letters from those of another process. */
  attempt: string;
  /** Whose events are not published again. */
  erased: ErasedPeople;
  /** Epoch of the raw record that a dead letter names. */
  epochOf: (dead: DeadLetterRow) => number;
  now: () => number;
}

/**
 * A publish fails after this time: shorter than ATTEMPT_MS of recover.ts, after which another
 * redrive searches the log for the record, ms.
 */
const PUBLISH_MS = 10_000;

/** Limits of the dead letters that are redriven together; bytes as they lie in events.dead. */
export const MAX_BATCH = { deadLetters: 1000, bytes: 32 * 1024 * 1024 };

/** Runs what it gets one after the other. */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

/** Connects to the servers of a redrive. Rejects when Kafka does not answer. */
export async function openTools({
  operator: { settings, log },
  database,
  reader,
  store = new DeadLetterStore(database),
}: {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
  store?: DeadLetterStore;
}): Promise<{ tools: RedriveTools; close: () => Promise<void> }> {
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-dlq')).admin();
  await admin.connect();
  const epochs = {
    raw: await readEpochs(database, TOPIC.raw),
    dead: await readEpochs(database, TOPIC.dead),
  };
  const erased = await readErasures(database, 'recorded');
  const producer = await connectProducer({
    settings,
    log,
    clientId: 'ravand-dlq',
    timeout: PUBLISH_MS,
    linger: 1,
    pollInterval: 5,
    maxQueued: { records: 2 * MAX_BATCH.deadLetters, bytes: 2 * MAX_BATCH.bytes },
  });
  // Of its own: it keeps a range open while the other one searches the raw log.
  const deadReader = new RangeReader({
    ...{ settings, clientId: 'ravand-dlq-dead', profile: 'interactive' },
  });
  const cursor = new RecordCursor(deadReader, new AbortController().signal);
  const inTurn = oneAtATime();
  const client = connectClickhouse({
    settings,
    name: 'ravand-dlq',
    requestTimeout: 70_000,
    connections: 2,
  });
  return {
    tools: {
      database,
      reader: { search: (range, visit) => inTurn(() => reader.search(range, visit)) },
      deadLetter: (known) => inTurn(() => nextDeadLetter(cursor, known)),
      admin,
      store,
      eventsTable: clickhouseEventsTable({ client, cluster: settings.CLICKHOUSE_CLUSTER }),
      storedItems: storedItemsLoader((positions) => storedItems(client, positions)),
      publish: (record) => producer.publish({ topic: TOPIC.raw, ...record }),
      attempt: randomUUID(),
      erased,
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
      await cursor.close();
      await Promise.allSettled([
        ...[producer.close(PUBLISH_MS), admin.disconnect(), client.close(), deadReader.close()],
      ]);
    },
  };
}
