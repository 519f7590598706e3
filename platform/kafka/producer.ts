import kafka from 'node-rdkafka';
import type { Log } from '../log.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';

export interface Outgoing {
  topic: string;
  partition: number;
  key: Buffer | string | null;
  value: Buffer;
}

/** A record that the log did not acknowledge in time, or refused: it may be in the log or not. */
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
  /** After this long without an acknowledgement a record has failed, ms. */
  timeout: number;
  /** Patience with the first connection, ms; `timeout` when it is not given. */
  connectTimeout?: number;
  /** How long records wait for company before they are sent, ms. */
  linger: number;
  /** `none` unless it is given. */
  compression?: 'lz4';
  /** How often delivery reports are collected, ms. */
  pollInterval: number;
  /** Records and bytes that may wait in the client. */
  maxQueued: { records: number; bytes: number };
}

export interface LogProducer {
  /**
   * Hands a record to the client; `done` is called once: without error and with the offset when
   * every in-sync replica has it (acks=all), otherwise with PublishFailed. Throws PublishFailed at
   * once when the client takes no more.
   */
  send(record: Outgoing, done: (error: PublishFailed | undefined, offset: number) => void): void;
  /** The same as a promise. */
  publish(record: Outgoing): Promise<number>;
  /**
   * How many partitions a topic has. Rejects with PublishFailed when the topic is not there, or no
   * broker answers within `ms`.
   */
  partitions(topic: string, ms: number): Promise<number>;
  /** Waits for what is under way, at most `ms`, then leaves; what had no acknowledgement fails. */
  close(ms: number): Promise<void>;
}

const UNKNOWN_TOPIC = 3;

/**
 * One record under way. A caller may give the same callback for several records, so each has an
 * object of its own.
 */
interface Sent {
  done: (error: PublishFailed | undefined, offset: number) => void;
}

/**
 * An idempotent producer with acks=all. Idempotence keeps the order within a partition, and
 * `enable.gapless.guarantee` turns a record that is given up before its successors into an error
 * for these as well: a partition never has a gap. Rejects when no broker answers within
 * `connectTimeout`.
 */
export async function connectProducer(options: ProducerOptions): Promise<LogProducer> {
  const producer = new kafka.Producer(
    {
      ...rdkafkaConnection(options.settings),
      'client.id': options.clientId,
      'enable.idempotence': true,
      'enable.gapless.guarantee': true,
      'linger.ms': options.linger,
      'compression.type': options.compression ?? 'none',
      'batch.num.messages': 10_000,
      'batch.size': 1_000_000,
      'message.max.bytes': 16 * 1024 * 1024,
      'message.timeout.ms': options.timeout,
      'queue.buffering.max.messages': options.maxQueued.records,
      'queue.buffering.max.kbytes': Math.ceil(options.maxQueued.bytes / 1024),
      dr_cb: true,
    } as kafka.ProducerGlobalConfig,
    { 'request.required.acks': -1 },
  );
  const waiting = new Set<Sent>();
  const settle = (sent: Sent, error: PublishFailed | undefined, offset: number) => {
    if (waiting.delete(sent)) sent.done(error, offset);
  };
  producer.on('delivery-report', (error: kafka.LibrdKafkaError | null, report) => {
    settle(
      report.opaque as Sent,
      error ? new PublishFailed(error.message, error.code) : undefined,
      error ? -1 : report.offset,
    );
  });
  const told = new Set<number>();
  producer.on('event.error', (error) => {
    // The client repeats itself with every attempt to reconnect.
    if (!told.has(error.code))
      options.log.warn({ code: 'kafka_client', kafka_code: error.code }, error.message);
    told.add(error.code);
  });
  await new Promise<void>((resolve, reject) => {
    producer.connect(
      { timeout: Math.max(1000, options.connectTimeout ?? options.timeout) },
      (error: kafka.LibrdKafkaError | null) => {
        // On an error the client has disconnected itself already.
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
  producer.setPollInterval(options.pollInterval);

  const send = ({ topic, partition, key, value }: Outgoing, done: Sent['done']) => {
    const sent = { done };
    waiting.add(sent);
    try {
      producer.produce(topic, partition, value, key, undefined, sent);
    } catch (error) {
      waiting.delete(sent);
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
          { topic, timeout: ms },
          (error: kafka.LibrdKafkaError | null, metadata: kafka.Metadata | undefined) => {
            const count =
              metadata?.topics.find((one) => one.name === topic)?.partitions.length ?? 0;
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
    async close(ms) {
      const flushed = new Promise<void>((resolve) => producer.flush(ms, () => resolve()));
      await Promise.race([
        flushed,
        new Promise((resolve) => setTimeout(resolve, ms + 500).unref()),
      ]);
      for (const sent of [...waiting])
        settle(
          sent,
          new PublishFailed('the producer was closed before the log acknowledged the record', -1),
          -1,
        );
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 2000).unref();
        producer.disconnect(500, () => resolve());
      });
    },
  };
}
