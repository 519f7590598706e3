import kafka from 'node-rdkafka';
import { backoffDelay, delay } from '../backoff.ts';
import { withDeadline } from '../deadline.ts';
import type { LogEnds } from '../log/evidence.ts';
import { authenticate } from './authenticate.ts';
import { consumerConfiguration } from './consumer-configuration.ts';
import { formerTopic, physicalTopic, topicNamesKnown, withLogicalTopics } from './topic-names.ts';
import type { ConsumedMessage, PartitionConsumerOptions } from './consumer-types.ts';
import { protocolToJoin } from './group-protocol.ts';
import { lostConnections } from './lost-connections.ts';

export interface PartitionOffset {
  partition: number;
  offset: number;
}

/** A Kafka operation failed. `fatal`: this client cannot recover. */
export class KafkaError extends Error {
  readonly kafkaCode: number;
  readonly fatal: boolean;
  constructor(cause: kafka.LibrdKafkaError | Error) {
    super(cause.message, { cause });
    this.name = 'KafkaError';
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

const CONNECTION_LOST = new Set<number>([
  kafka.CODES.ERRORS.ERR__TRANSPORT,
  kafka.CODES.ERRORS.ERR__ALL_BROKERS_DOWN,
]);

const NOT_IN_LOG = new Set<number>([
  kafka.CODES.ERRORS.ERR__AUTO_OFFSET_RESET,
  kafka.CODES.ERRORS.ERR__LOG_TRUNCATION,
]);

/** The client stopped fetching a partition: its position is not in the log. */
export function isNotInLog(error: unknown): boolean {
  return error instanceof KafkaError && NOT_IN_LOG.has(error.kafkaCode);
}

/** Promises over node-rdkafka's consumer of a topic; partitions wait for their tasks. */
export interface ConsumerClient {
  /**
   * Up to `max` messages; waits at most `timeout` ms for the first. Rejects with KafkaError.
   */
  consume(max: number, timeout: number): Promise<ConsumedMessage[]>;
  /** Undefined: the group has never committed. Rejects with KafkaError. */
  committed(partition: number): Promise<number | undefined>;
  /** Starts fetching, also what was paused; undefined: from the beginning of the partition. */
  assign(partition: number, offset: number | undefined): void;
  /**
   * Acknowledges the rebalance with no partitions; `assign` adds each one later. All three throw
   * KafkaErrors.
   */
  acceptAssignment(): void;
  unassign(partitions: readonly number[]): void;
  pause(partition: number): void;
  resume(partition: number): void;
  /** The outcome is reported to `onCommit`. Throws when the client is not connected. */
  commit(offsets: readonly PartitionOffset[]): void;
  /** High watermark as of the last fetch response; undefined before the first one. */
  end(partition: number): number | undefined;
  /** Ends of the partition, as a broker knows them now. Rejects with KafkaError. */
  ends(partition: number): Promise<LogEnds>;
  /** Fetches the topic's metadata from a broker. Rejects with KafkaError. */
  probe(): Promise<void>;
  close(ms: number): Promise<void>;
}

export interface ConsumerClientOptions extends Pick<
  Required<PartitionConsumerOptions>,
  'settings' | 'log' | 'groupId' | 'clientId' | 'instanceId' | 'topic'
> {
  /**
   * How long a batch may wait for more records, ms. A fetch waits a quarter to a half of it before,
   * at most 500 ms (consumer-configuration.ts).
   */
  maxWaitMs: number;
  onAssign(partitions: number[]): void;
  onRevoke(partitions: number[]): void;
  onCommit(error: KafkaError | undefined): void;
  /** A connection was lost, or an offset is not in the log: it may be another log. */
  onSuspicion(): void;
}

/** Connects, retrying with backoff while no broker answers. Rejects only when `signal` aborts. */
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
          `cannot reach Kafka at ${brokers} (KAFKA_BROKERS): ${(error as Error).message}; retrying with backoff`,
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
  await topicNamesKnown();
  const { log } = options;
  const topic = physicalTopic(options.topic);
  const protocol = await protocolToJoin(options);
  const partitionsOf = (assignment: { partition: number }[]) =>
    assignment.map(({ partition }) => partition);
  const consumer = new kafka.KafkaConsumer(
    {
      ...consumerConfiguration(options, protocol),
      rebalance_cb: (error: kafka.LibrdKafkaError, assignment: { partition: number }[]) => {
        if (error.code === kafka.CODES.ERRORS.ERR__ASSIGN_PARTITIONS)
          options.onAssign(partitionsOf(assignment));
        else options.onRevoke(partitionsOf(assignment));
      },
      offset_commit_cb: (error: kafka.LibrdKafkaError | null | undefined) =>
        options.onCommit(error ? new KafkaError(error) : undefined),
    },
    // A position that is not in the log is never replaced silently (log-guard.ts).
    { 'auto.offset.reset': 'error' },
  );
  consumer.on('event.error', (error) => {
    log.debug({ code: 'kafka_client', kafka_code: error.code }, error.message);
    if (CONNECTION_LOST.has(error.code)) options.onSuspicion();
  });
  const readStatistics = lostConnections(() => options.onSuspicion());
  consumer.on('event.stats', ({ message }: { message: string }) => readStatistics(message));
  await authenticate(consumer, options.settings);
  await new Promise<void>((resolve, reject) => {
    consumer.connect({ topic, timeout: 5000 }, (error: kafka.LibrdKafkaError | null) => {
      if (error) reject(new KafkaError(error));
      else resolve();
    });
  });
  consumer.subscribe([topic]);
  return clientOf(consumer, { topic, former: formerTopic(options.topic) });
}

/** Errors of calls that answer at once are KafkaErrors, too. */
function throwing(call: () => void): void {
  try {
    call();
  } catch (error) {
    throw new KafkaError(error as kafka.LibrdKafkaError);
  }
}

function clientOf(
  consumer: kafka.KafkaConsumer,
  { topic, former }: { topic: string; former: string | undefined },
): ConsumerClient {
  const committedTo = (name: string, partition: number) =>
    new Promise<number | undefined>((resolve, reject) => {
      const of = [{ topic: name, partition }];
      consumer.committed(of, 5000, (error: kafka.LibrdKafkaError | null, found) => {
        // On an error, node-rdkafka passes no list.
        const entry = error
          ? undefined
          : (found[0] as { offset?: number; error?: kafka.LibrdKafkaError } | undefined);
        const failed = error ?? entry?.error;
        if (failed) return reject(new KafkaError(failed));
        const offset = entry?.offset;
        resolve(offset === undefined || offset < 0 ? undefined : offset);
      });
    });
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
          if (error) reject(new KafkaError(error));
          else resolve(withLogicalTopics(messages as unknown as ConsumedMessage[]));
        });
      }),
    committed: async (partition) =>
      (await committedTo(topic, partition)) ??
      (former === undefined ? undefined : committedTo(former, partition)),
    acceptAssignment: () => throwing(() => consumer.incrementalAssign([])),
    assign: (partition, offset) =>
      throwing(() => {
        consumer.incrementalAssign([at(partition, offset ?? OFFSET_BEGINNING)]);
        // librdkafka keeps a pause across revocation: a partition that was paused when it was
        // revoked would never be fetched again by this process.
        consumer.resume([at(partition)]);
      }),
    unassign: (partitions) =>
      throwing(() => consumer.incrementalUnassign(partitions.map((partition) => at(partition)))),
    pause: (partition) => void consumer.pause([at(partition)]),
    resume: (partition) => void consumer.resume([at(partition)]),
    commit: (offsets) =>
      consumer.commit(offsets.map(({ partition, offset }) => ({ topic, partition, offset }))),
    end(partition) {
      try {
        const { highOffset } = consumer.getWatermarkOffsets(topic, partition);
        return highOffset < 0 ? undefined : highOffset;
      } catch {
        return undefined; // nothing has been fetched yet
      }
    },
    ends: (partition) =>
      new Promise((resolve, reject) => {
        consumer.queryWatermarkOffsets(
          topic,
          partition,
          5000,
          (error: kafka.LibrdKafkaError | null, found) => {
            if (error) reject(new KafkaError(error));
            else resolve({ low: found.lowOffset, high: found.highOffset });
          },
        );
      }),
    probe: () =>
      new Promise((resolve, reject) => {
        consumer.getMetadata({ topic, timeout: 1000 }, (error: kafka.LibrdKafkaError | null) => {
          if (error) reject(new KafkaError(error));
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
