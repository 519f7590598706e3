import kafka from 'node-rdkafka';
import type { Log } from '../log.ts';
import { deliveryCode } from './delivery-error.ts';
import { authenticate } from './authenticate.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';
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
  /** Maximum records and bytes in the client's queue. */
  maxQueued: { records: number; bytes: number };
}

export interface LogProducer {
  /**
   * Queues a record. `done` is called once: with the offset and the append time (ms; -1: unknown)
   * when every in-sync replica has it (acks=all), otherwise with PublishFailed. Throws
   * PublishFailed when the queue is full.
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
/** Larger records are sent alone. */
export const BATCH_BYTES = 1_000_000;

/** A record in flight; one callback may serve several, so each has its object. */
interface Sent {
  done: (error: PublishFailed | undefined, offset: number, appendedAt?: number) => void;
}

/** Errors of the client are polled this often while nothing is in flight, ms. */
const IDLE_POLL_MS = 2000;
/** So long after the last report the frequent polls end, ms. */
const REST_AFTER_MS = 100;

/** Polls often only while records are in flight: a timer of a millisecond costs an idle process. */
function deliveryPolls(
  producer: Pick<kafka.Producer, 'poll'>,
  { interval, inFlight }: { interval: number; inFlight: () => number },
): { begin(): void; sent(): void; completed(): void; end(): void } {
  let isFrequent = false;
  let timer: NodeJS.Timeout | undefined;
  let resting: NodeJS.Timeout | undefined;
  const poll = (frequent: boolean) => {
    isFrequent = frequent;
    clearInterval(timer);
    // setPollInterval of the client adds a listener with each call.
    timer = setInterval(
      () => {
        try {
          producer.poll();
        } catch {
          // not connected
        }
      },
      frequent ? interval : Math.max(interval, IDLE_POLL_MS),
    ).unref();
  };
  return {
    begin: () => poll(false),
    sent() {
      if (!isFrequent) poll(true);
    },
    completed() {
      if (inFlight() > 0) return;
      resting ??= setTimeout(() => {
        resting = undefined;
        if (inFlight() === 0 && timer) poll(false);
      }, REST_AFTER_MS).unref();
    },
    end() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

/**
 * An idempotent producer with acks=all. Idempotence keeps the order within a partition, and
 * `enable.gapless.guarantee` fails the records after a failed one too, so that a partition never
 * has a gap. Rejects when no broker answers within `connectTimeout`.
 */
export async function connectProducer(options: ProducerOptions): Promise<LogProducer> {
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
      'batch.size': options.batchBytes ?? BATCH_BYTES,
      'message.max.bytes': 16 * 1024 * 1024,
      'message.timeout.ms': options.timeout,
      'queue.buffering.max.messages': options.maxQueued.records,
      'queue.buffering.max.kbytes': Math.ceil(options.maxQueued.bytes / 1024),
      dr_cb: true,
    } as kafka.ProducerGlobalConfig,
    { 'request.required.acks': -1 },
  );
  const inFlight = new Set<Sent>();
  const polls = deliveryPolls(producer, {
    interval: options.pollInterval,
    inFlight: () => inFlight.size,
  });
  const complete = (
    sent: Sent,
    error: PublishFailed | undefined,
    offset: number,
    appendedAt = -1,
  ) => {
    if (inFlight.delete(sent)) sent.done(error, offset, appendedAt);
    polls.completed();
  };
  producer.on('delivery-report', (error: kafka.LibrdKafkaError | null, report) => {
    complete(
      report.opaque as Sent,
      error ? new PublishFailed(error.message, deliveryCode(error)) : undefined,
      error ? -1 : report.offset,
      report.timestamp,
    );
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
  const send = (
    { topic, partition, key, value, timestamp, headers }: OutgoingRecord,
    done: Sent['done'],
  ) => {
    const sent = { done };
    inFlight.add(sent);
    polls.sent();
    try {
      if (headers)
        producer.produce(physicalTopic(topic), partition, value, key, timestamp, sent, [
          ...headers,
        ]);
      else producer.produce(physicalTopic(topic), partition, value, key, timestamp, sent);
    } catch (error) {
      inFlight.delete(sent);
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
      const flushed = new Promise<void>((resolve) => producer.flush(ms, () => resolve()));
      await Promise.race([
        flushed,
        new Promise((resolve) => setTimeout(resolve, ms + 500).unref()),
      ]);
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
