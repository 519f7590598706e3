import kafka from 'node-rdkafka';
import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import { deliveryCode } from './delivery-error.ts';
import { authenticate } from './authenticate.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';
import { deliveryPolls } from './delivery-polls.ts';
import { PartitionSends } from './partition-sends.ts';
import type { RecordHeader } from './record-headers.ts';
import { physicalTopic, topicNamesKnown } from './topic-names.ts';

export interface OutgoingRecord {
  topic: string;
  partition: number;
  key: Buffer | string | null;
  value: Buffer;
  /** Unix ms; of a topic with LogAppendTime the broker sets it. */
  timestamp?: number;
  headers?: readonly RecordHeader[] | undefined;
}

/** A record was refused or not acknowledged in time: it may be in the topic or not. */
export class PublishFailed extends Error {
  readonly kafkaCode: number;
  constructor(message: string, kafkaCode: number) {
    super(message);
    this.name = 'PublishFailed';
    this.kafkaCode = kafkaCode;
  }
}

export interface ProducerOptions {
  settings: KafkaSettings;
  log: Log;
  clientId: string;
  /** A record without an acknowledgement after this time has failed, ms. */
  timeout: number;
  /** Timeout of the first connection, ms; defaults to `timeout`, at most 10 s. */
  connectTimeout?: number;
  /** How long a batch waits for more records before it is sent, ms. */
  linger: number;
  /** Defaults to no compression. */
  compression?: 'lz4';
  /** How often delivery reports are polled while records are in flight, ms. */
  pollInterval: number;
  /** Largest batch of several records, before compression; 1,000,000 bytes by default. */
  batchBytes?: number;
  /**
   * True by default: after a record that can never be appended the whole producer fails. False: the
   * records after it are appended; for callers that have one record per partition in flight.
   */
  isGapless?: boolean;
  /**
   * True: the client gets no record that it cannot send yet, and saves CPU; for records that are
   * many and large. False by default: small ones are acknowledged a poll sooner.
   */
  holdsBack?: boolean;
  /** Maximum records and bytes in the client's queue. */
  maxQueued: { records: number; bytes: number };
}

export interface LogProducer {
  /**
   * Queues a record. `done` is called once: with the offset and the append time (ms; -1: unknown)
   * when every in-sync replica has it (acks=all), otherwise with PublishFailed. The first record of
   * a partition is sent alone (partition-sends.ts). Throws PublishFailed when the queue is full.
   */
  send(
    record: OutgoingRecord,
    done: (error: PublishFailed | undefined, offset: number, appendedAt?: number) => void,
  ): void;
  /** The same as a promise. */
  publish(record: OutgoingRecord): Promise<number>;
  /** Partitions of a topic. PublishFailed: no such topic, or no broker within `ms`. */
  partitions(topic: string, ms: number): Promise<number>;
  /** First retained offset and end of one partition. PublishFailed: no broker within `ms`. */
  watermarks(
    of: { topic: string; partition: number },
    ms: number,
  ): Promise<{ low: number; high: number }>;
  /** Flushes for at most `ms`, then disconnects; unacknowledged records fail. */
  close(ms: number): Promise<void>;
}

const UNKNOWN_TOPIC = 3;
/** node-rdkafka passes none on an error. */
const NO_OFFSETS = { lowOffset: -1, highOffset: -1 };
/** How often `close` looks for records that wait, ms. */
const CLOSE_POLL_MS = 5;
/** Larger records are sent alone. */
export const BATCH_BYTES = 1_000_000;

/** A record in flight; one callback may serve several, so each has its object. */
interface Sent {
  /** The name in Kafka when it was sent: each topic that replaces one has first records again. */
  topic: string;
  partition: number;
  /** Of its value. */
  bytes: number;
  record: OutgoingRecord;
  done: (error: PublishFailed | undefined, offset: number, appendedAt?: number) => void;
}

/** Codes of librdkafka: its queue is full; an offset that it does not know. */
const QUEUE_FULL = -184;
const NO_OFFSET = -1001;
const REFUSED = 'the client refuses a record of the partition that waited';
/**
 * Answers about the one record: MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP,
 * INVALID_RECORD. They say nothing about the records that wait behind it.
 */
const OF_ONE_RECORD: ReadonlySet<number> = new Set([10, 18, 32, 87]);
/** Far below producer.id.expiration.ms of the brokers, which is a day by default, ms. */
const RENEW_MS = 6 * 3_600_000;

/**
 * A report of success without an offset is no acknowledgement: librdkafka concludes from an answer
 * to a later record that this one was appended, which need not be (partition-sends.ts).
 */
function failureOf(
  error: kafka.LibrdKafkaError | null,
  { offset }: Pick<kafka.DeliveryReport, 'offset'>,
): PublishFailed | undefined {
  if (error) return new PublishFailed(error.message, deliveryCode(error));
  return offset >= 0
    ? undefined
    : new PublishFailed('Kafka acknowledged later records, but not this one', NO_OFFSET);
}

/** Of a record that waits, and fails with an earlier one of its partition. */
function failureAfter(earlier: PublishFailed | undefined): PublishFailed {
  if (!earlier) return new PublishFailed(REFUSED, QUEUE_FULL);
  if (!OF_ONE_RECORD.has(earlier.kafkaCode)) return earlier;
  return new PublishFailed(`not sent after a record that failed: ${earlier.message}`, QUEUE_FULL);
}

/**
 * An idempotent producer with acks=all. Idempotence keeps the order within a partition, and
 * `enable.gapless.guarantee` fails the records after a failed one too, so that a partition never
 * has a gap. Rejects when no broker answers within `connectTimeout`.
 */
export async function connectProducer(options: ProducerOptions): Promise<LogProducer> {
  const { maxQueued, batchBytes = BATCH_BYTES } = options;
  await topicNamesKnown();
  const producer = new kafka.Producer(
    {
      ...rdkafkaConnection(options.settings),
      'client.id': options.clientId,
      'enable.idempotence': true,
      'enable.gapless.guarantee': options.isGapless ?? true,
      'linger.ms': options.linger,
      'compression.type': options.compression ?? 'none',
      'batch.num.messages': 10_000,
      'batch.size': batchBytes,
      'message.max.bytes': 16 * 1024 * 1024,
      'message.timeout.ms': options.timeout,
      'queue.buffering.max.messages': maxQueued.records,
      'queue.buffering.max.kbytes': Math.ceil(maxQueued.bytes / 1024),
      dr_cb: true,
    } as kafka.ProducerGlobalConfig,
    { 'request.required.acks': -1 },
  );
  const inFlight = new Set<Sent>();
  let bytes = 0;
  const sends = new PartitionSends<Sent>({
    produce(sent) {
      const { topic, partition } = sent;
      const { key, value, timestamp, headers } = sent.record;
      if (headers) producer.produce(topic, partition, value, key, timestamp, sent, [...headers]);
      else producer.produce(topic, partition, value, key, timestamp, sent);
    },
    holdsBack: options.holdsBack ?? false,
    linger: options.linger,
    batchBytes,
    now: () => performance.now(),
  });
  const polls = deliveryPolls(producer, {
    interval: options.pollInterval,
    inFlight: () => inFlight.size,
  });
  const forget = (sent: Sent): boolean => {
    if (!inFlight.delete(sent)) return false;
    bytes -= sent.bytes;
    return true;
  };
  const complete = (
    sent: Sent,
    error: PublishFailed | undefined,
    offset: number,
    appendedAt = -1,
  ) => {
    const failed = sends.reported(sent, { isDelivered: !error });
    if (error && forget(sent)) sent.done(error, offset, appendedAt);
    for (const next of failed) if (forget(next)) next.done(failureAfter(error), -1, -1);
    // Last, because it may send: nothing overtakes those that the client has just refused.
    if (!error && forget(sent)) sent.done(error, offset, appendedAt);
    polls.completed();
  };
  producer.on('delivery-report', (error: kafka.LibrdKafkaError | null, report) => {
    const failure = failureOf(error, report);
    complete(report.opaque as Sent, failure, failure ? -1 : report.offset, report.timestamp);
  });
  const loggedCodes = new Set<number>();
  producer.on('event.error', (error) => {
    // The client repeats the error with every attempt to reconnect.
    if (!loggedCodes.has(error.code))
      options.log.warn({ code: 'kafka_client', kafka_code: error.code }, error.message);
    loggedCodes.add(error.code);
  });
  await authenticate(producer, options.settings);
  await new Promise<void>((resolve, reject) => {
    producer.connect(
      { timeout: Math.max(1000, options.connectTimeout ?? Math.min(options.timeout, 10_000)) },
      (error: kafka.LibrdKafkaError | null) => {
        // On an error the client has already disconnected.
        if (!error) resolve();
        else
          reject(
            new PublishFailed(
              `cannot reach Kafka at ${options.settings.KAFKA_BROKERS.join(',')}: ${error.message}`,
              error.code,
            ),
          );
      },
    );
  });
  polls.begin();
  const renewing = setInterval(() => sends.renew(), RENEW_MS).unref();
  const send = (record: OutgoingRecord, done: Sent['done']) => {
    const { length } = record.value;
    // Records that wait are not in the client's queue, which counts the same.
    if (inFlight.size >= maxQueued.records || bytes + length > maxQueued.bytes)
      throw new PublishFailed('the queue of the producer is full', QUEUE_FULL);
    const topic = physicalTopic(record.topic);
    const sent = { topic, partition: record.partition, bytes: length, record, done };
    inFlight.add(sent);
    bytes += length;
    polls.sent();
    try {
      sends.send(sent);
    } catch (error) {
      forget(sent);
      const cause = error as kafka.LibrdKafkaError;
      throw new PublishFailed(cause.message, cause.code);
    }
  };
  return {
    send,
    publish: (record) =>
      new Promise((resolve, reject) => {
        send(record, (error, offset) => (error ? reject(error) : resolve(offset)));
      }),
    partitions: (topic, ms) =>
      new Promise((resolve, reject) => {
        producer.getMetadata(
          { topic: physicalTopic(topic), timeout: ms },
          (error: kafka.LibrdKafkaError | null, metadata: kafka.Metadata | undefined) => {
            const count =
              metadata?.topics.find((one) => one.name === physicalTopic(topic))?.partitions
                .length ?? 0;
            if (error) reject(new PublishFailed(error.message, error.code));
            else if (count === 0)
              reject(
                new PublishFailed(
                  `the topic ${topic} does not exist: run ./ravand up, or create the topics`,
                  UNKNOWN_TOPIC,
                ),
              );
            else resolve(count);
          },
        );
      }),
    watermarks: ({ topic, partition }, ms) =>
      new Promise((resolve, reject) => {
        producer.queryWatermarkOffsets(
          physicalTopic(topic),
          partition,
          ms,
          (error: kafka.LibrdKafkaError | null, { lowOffset, highOffset } = NO_OFFSETS) => {
            if (error) reject(new PublishFailed(error.message, error.code));
            else resolve({ low: lowOffset, high: highOffset });
          },
        );
      }),
    async close(ms) {
      clearInterval(renewing);
      const until = performance.now() + ms;
      const left = () => Math.max(0, until - performance.now());
      while (sends.isWaiting && left() > 0) await delay(CLOSE_POLL_MS);
      await Promise.race([
        new Promise<void>((resolve) => producer.flush(left(), () => resolve())),
        new Promise((resolve) => setTimeout(resolve, left() + 500).unref()),
      ]);
      // Reports of what was flushed are on their way.
      while (inFlight.size > 0 && left() > 0) await delay(CLOSE_POLL_MS);
      for (const sent of [...inFlight])
        complete(
          sent,
          new PublishFailed('the producer was closed before the record was acknowledged', -1),
          -1,
        );
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 2000).unref();
        producer.disconnect(500, () => resolve());
      });
      polls.end();
    },
  };
}
