import type { LibrdKafkaError } from 'node-rdkafka';
import { withDeadline } from '../deadline.ts';
import { evidenceOf, type LogEnds, type RecordEvidence } from '../log/evidence.ts';
import type { TopicPartition } from '../log/evidence-store.ts';
import type { KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer-types.ts';
import { physicalTopic } from './topic-names.ts';
import {
  assignStandalone,
  closeStandalone,
  connectStandalone,
  pollStandalone,
  type StandaloneConsumer,
} from './standalone-consumer.ts';

const CONNECT_MS = 4000;
const ANSWER_MS = 6000;
const POLL_MS = 50;
/** The connection is closed this long after its last use, ms. */
const IDLE_MS = 5000;

/** Reads ends and single records of any topic, one question at a time. Joins no group. */
export class LogProbe {
  readonly #settings: KafkaSettings;
  #connecting: Promise<StandaloneConsumer> | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  constructor(settings: KafkaSettings) {
    this.#settings = settings;
  }

  /** Current ends of a partition, as the broker knows them. Rejects without a broker. */
  ends({ topic, partition }: TopicPartition): Promise<LogEnds> {
    return this.#inTurn(
      (consumer) =>
        new Promise<LogEnds>((resolve, reject) => {
          consumer.queryWatermarkOffsets(
            physicalTopic(topic),
            partition,
            ANSWER_MS,
            (error: LibrdKafkaError | null, found) => {
              if (error) reject(new Error(error.message));
              else resolve({ low: found.lowOffset, high: found.highOffset });
            },
          );
        }),
    );
  }

  /** The record at an offset below the end; undefined: the first one from there on is another. */
  recordAt(of: TopicPartition, offset: number): Promise<ConsumedMessage | undefined> {
    return this.#inTurn(async (consumer) => {
      assignStandalone(consumer, [{ ...of, offset }]);
      try {
        for (const deadline = performance.now() + ANSWER_MS; performance.now() < deadline;) {
          const messages = await pollStandalone(consumer, { maxRecords: 1, ms: POLL_MS });
          const found = messages.find(
            (one) =>
              one.topic === of.topic && one.partition === of.partition && one.offset >= offset,
          );
          if (found) return found.offset === offset ? found : undefined;
        }
        throw new Error(`no record of ${of.topic} ${of.partition} came at offset ${offset}`);
      } finally {
        if (consumer.isConnected()) consumer.unassign();
      }
    });
  }

  async evidenceAt(of: TopicPartition, offset: number): Promise<RecordEvidence | undefined> {
    const found = await this.recordAt(of, offset);
    return found && evidenceOf(found);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const connecting = this.#connecting;
    this.#connecting = undefined;
    const consumer = await connecting?.catch(() => undefined);
    if (consumer) await closeStandalone(consumer);
  }

  #inTurn<T>(work: (consumer: StandaloneConsumer) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      clearTimeout(this.#idle);
      try {
        this.#connecting ??= connectStandalone({
          settings: this.#settings,
          clientId: 'ravand-log-probe',
          connectMs: CONNECT_MS,
          prefetchKib: 1024,
          fetchBytes: 64 * 1024,
        });
        const consumer = await this.#connecting;
        return await withDeadline(
          { ms: 2 * ANSWER_MS, waitingFor: 'a record of the log' },
          work(consumer),
        );
      } catch (error) {
        await this.close();
        throw error;
      } finally {
        this.#idle = setTimeout(() => void this.close(), IDLE_MS);
        this.#idle.unref();
      }
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}
