import kafka from 'node-rdkafka';
import { backoffDelay, delay } from '../backoff.ts';
import { withDeadline } from '../deadline.ts';
import type { Log } from '../log.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer.ts';

export interface PartitionOffset {
  partition: number;
  offset: number;
}

/**
 * Kafka could not do it now. `fatal`: this client will never work again, for instance because
 * another process uses its instance id.
 */
export class KafkaTrouble extends Error {
  readonly kafkaCode: number;
  readonly fatal: boolean;
  constructor(cause: kafka.LibrdKafkaError | Error) {
    super(cause.message, { cause });
    this.name = 'KafkaTrouble';
    this.kafkaCode = 'code' in cause ? cause.code : 0;
    this.fatal = ('isFatal' in cause && cause.isFatal) || FATAL.has(this.kafkaCode);
  }
}

const FENCED_INSTANCE_ID = 82;
const FATAL = new Set<number>([
  kafka.CODES.ERRORS.ERR__FATAL,
  kafka.CODES.ERRORS.ERR__FENCED,
  FENCED_INSTANCE_ID,
]);

/**
 * node-rdkafka's raw consumer of one topic as promises. Partitions are assigned one by one, when
 * their task is ready.
 */
export interface ConsumerClient {
  /**
   * Up to `max` messages that are at hand; waits at most `timeout` ms for the first. Rejects with
   * KafkaTrouble.
   */
  consume(max: number, timeout: number): Promise<ConsumedMessage[]>;
  /** Rejects with KafkaTrouble. Undefined: the group never committed there. */
  committed(partition: number): Promise<number | undefined>;
  /** Begins to read; undefined: from the beginning of the log. */
  assign(partition: number, offset: number | undefined): void;
  /** Answers the rebalance: nothing yet, each partition follows with `assign`. */
  acceptAssignment(): void;
  unassign(partitions: readonly number[]): void;
  pause(partition: number): void;
  resume(partition: number): void;
  /** The outcome comes with `onCommit`. Throws when the client is not connected. */
  commit(offsets: readonly PartitionOffset[]): void;
  /** The offset that the next record of the log will get, as of the last answer of the broker. */
  end(partition: number): number | undefined;
  /** Asks a broker for the topic. Rejects with KafkaTrouble. */
  probe(): Promise<void>;
  close(ms: number): Promise<void>;
}

export interface ConsumerClientOptions {
  settings: KafkaSettings;
  log: Log;
  groupId: string;
  clientId: string;
  instanceId: string;
  topic: string;
  /**
   * How long records may wait for company before the user takes them, ms: a fetch may take a part
   * of it.
   */
  patience: number;
  onAssign(partitions: number[]): void;
  onRevoke(partitions: number[]): void;
  onCommit(error: KafkaTrouble | undefined): void;
}

/** Connects, with backoff for as long as no broker answers. Rejects only when `signal` aborts. */
export async function connectConsumer(
  options: ConsumerClientOptions,
  signal: AbortSignal,
): Promise<ConsumerClient> {
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await connectOnce(options);
    } catch (error) {
      if (attempt === 0) {
        const brokers = options.settings.KAFKA_BROKERS.join(',');
        options.log.warn(
          { code: 'kafka_unreachable' },
          `no Kafka at ${brokers} (KAFKA_BROKERS): ${(error as Error).message}; trying again with backoff`,
        );
      }
      await delay(
        100 + backoffDelay({ base: 200, cap: 2000, attempt, random: Math.random() }),
        signal,
      );
    }
  }
}

async function connectOnce(options: ConsumerClientOptions): Promise<ConsumerClient> {
  const { topic, log } = options;
  const partitionsOf = (assignment: { partition: number }[]) =>
    assignment.map(({ partition }) => partition);
  const consumer = new kafka.KafkaConsumer(
    {
      ...configuration(options),
      rebalance_cb: (error: kafka.LibrdKafkaError, assignment: { partition: number }[]) => {
        if (error.code === kafka.CODES.ERRORS.ERR__ASSIGN_PARTITIONS)
          options.onAssign(partitionsOf(assignment));
        else options.onRevoke(partitionsOf(assignment));
      },
      offset_commit_cb: (error: kafka.LibrdKafkaError | null | undefined) =>
        options.onCommit(error ? new KafkaTrouble(error) : undefined),
    },
    { 'auto.offset.reset': 'earliest' },
  );
  consumer.on('event.error', (error) =>
    log.debug({ code: 'kafka_client', kafka_code: error.code }, error.message),
  );
  await new Promise<void>((resolve, reject) => {
    consumer.connect({ topic, timeout: 5000 }, (error: kafka.LibrdKafkaError | null) => {
      if (error) reject(new KafkaTrouble(error));
      else resolve();
    });
  });
  consumer.subscribe([topic]);
  return clientOf(consumer, topic);
}

function clientOf(consumer: kafka.KafkaConsumer, topic: string): ConsumerClient {
  const at = (partition: number, offset?: number) => ({
    topic,
    partition,
    ...(offset === undefined ? {} : { offset }),
  });
  return {
    consume: (max, timeout) =>
      new Promise((resolve, reject) => {
        consumer.setDefaultConsumeTimeout(timeout);
        consumer.consume(max, (error: kafka.LibrdKafkaError | null, messages) => {
          if (error) reject(new KafkaTrouble(error));
          else resolve(messages as unknown as ConsumedMessage[]);
        });
      }),
    committed: (partition) =>
      new Promise((resolve, reject) => {
        consumer.committed([at(partition)], 5000, (error: kafka.LibrdKafkaError | null, found) => {
          // With an error there is no list at all.
          const entry = error
            ? undefined
            : (found[0] as { offset?: number; error?: kafka.LibrdKafkaError } | undefined);
          const failed = error ?? entry?.error;
          if (failed) return reject(new KafkaTrouble(failed));
          const offset = entry?.offset;
          resolve(offset === undefined || offset < 0 ? undefined : offset);
        });
      }),
    acceptAssignment: () => consumer.incrementalAssign([]),
    assign: (partition, offset) =>
      consumer.incrementalAssign([at(partition, offset ?? OFFSET_BEGINNING)]),
    unassign: (partitions) =>
      consumer.incrementalUnassign(partitions.map((partition) => at(partition))),
    pause: (partition) => void consumer.pause([at(partition)]),
    resume: (partition) => void consumer.resume([at(partition)]),
    commit: (offsets) =>
      consumer.commit(offsets.map(({ partition, offset }) => ({ topic, partition, offset }))),
    end(partition) {
      try {
        const { highOffset } = consumer.getWatermarkOffsets(topic, partition);
        return highOffset < 0 ? undefined : highOffset;
      } catch {
        return undefined; // nothing was fetched from there yet
      }
    },
    probe: () =>
      new Promise((resolve, reject) => {
        consumer.getMetadata({ topic, timeout: 1000 }, (error: kafka.LibrdKafkaError | null) => {
          if (error) reject(new KafkaTrouble(error));
          else resolve();
        });
      }),
    async close(ms) {
      const left = new Promise<void>((resolve) => {
        consumer.disconnect(() => resolve());
      });
      await withDeadline({ ms, waitingFor: 'the consumer to leave its group' }, left);
    },
  };
}

const OFFSET_BEGINNING = -2;

/**
 * Who has patience fetches seldom and much: a fetch for every few records costs brokers and clients
 * more than the records do.
 */
function fetchSettings(patience: number): {
  'fetch.min.bytes': number;
  'fetch.wait.max.ms': number;
} {
  if (patience < PATIENT_MS) return { 'fetch.min.bytes': 1, 'fetch.wait.max.ms': 100 };
  return {
    'fetch.min.bytes': 1024 * 1024,
    'fetch.wait.max.ms': Math.round(Math.min(250, patience / 4)),
  };
}

const PATIENT_MS = 100;

function configuration({
  settings,
  groupId,
  clientId,
  instanceId,
  patience,
}: ConsumerClientOptions): Record<string, string | number | boolean> {
  return {
    ...rdkafkaConnection(settings),
    'group.id': groupId,
    'client.id': clientId,
    // A named member that comes back within the session keeps its partitions at once; an unnamed
    // one that was killed holds them for the session.
    ...(instanceId === '' ? {} : { 'group.instance.id': instanceId }),
    'session.timeout.ms': 6000,
    'heartbeat.interval.ms': 1500,
    'max.poll.interval.ms': 60_000,
    'partition.assignment.strategy': 'cooperative-sticky',
    'enable.auto.commit': false,
    'enable.auto.offset.store': false,
    'allow.auto.create.topics': false,
    'check.crcs': true,
    ...fetchSettings(patience),
    'fetch.error.backoff.ms': 100,
    'fetch.queue.backoff.ms': 10,
    'fetch.message.max.bytes': 4 * 1024 * 1024,
    'queued.max.messages.kbytes': 16 * 1024,
    'topic.metadata.refresh.interval.ms': 30_000,
  };
}
