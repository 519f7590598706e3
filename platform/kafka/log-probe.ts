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
  type StandaloneOptions,
} from './standalone-consumer.ts';

const CONNECT_MS = 4000;
const ANSWER_MS = 6000;
const POLL_MS = 50;
const POLL_RECORDS = 500;
/** Records of so many partitions are read together. */
const TOGETHER = 50;
/** The connection is closed this long after its last use, ms. */
const IDLE_MS = 5000;

/** Which record somebody waits for. */
interface Question {
  of: TopicPartition;
  offset: number;
  answer: (found: ConsumedMessage | undefined) => void;
  fail: (error: Error) => void;
}

/**
 * Reads ends and single records of any topic. Joins no group. Records that are asked for meanwhile
 * are read together: a process that gets hundreds of partitions asks for some of each.
 */
export class LogProbe {
  readonly #settings: KafkaSettings;
  readonly #connect: (options: StandaloneOptions) => Promise<StandaloneConsumer>;
  #asked: Question[] = [];
  #connecting: Promise<StandaloneConsumer> | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  constructor(settings: KafkaSettings, connect = connectStandalone) {
    this.#settings = settings;
    this.#connect = connect;
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
    return new Promise((answer, fail) => {
      const question: Question = { of, offset, answer, fail };
      this.#asked.push(question);
      // Its turn may come when an earlier one has answered it.
      this.#inTurn((consumer) => this.#answer(consumer)).catch((error: unknown) => {
        this.#asked = this.#asked.filter((one) => one !== question);
        question.fail(error as Error);
      });
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

  /** Answers what has been asked so far, one record of each partition. */
  async #answer(consumer: StandaloneConsumer): Promise<void> {
    const chosen = new Map<string, Question>();
    for (const question of this.#asked) {
      const key = keyOf(question.of);
      if (chosen.size < TOGETHER && !chosen.has(key)) chosen.set(key, question);
    }
    if (chosen.size === 0) return;
    const questions = [...chosen.values()];
    this.#asked = this.#asked.filter((one) => chosen.get(keyOf(one.of)) !== one);
    try {
      assignStandalone(
        consumer,
        questions.map(({ of, offset }) => ({ ...of, offset })),
      );
      // A client that stops answering leaves none of them waiting.
      await withDeadline(
        { ms: ANSWER_MS + POLL_MS + 1000, waitingFor: 'records of the log' },
        answerFrom(consumer, chosen),
      );
    } catch (error) {
      for (const { fail } of questions) fail(error as Error);
      throw error;
    } finally {
      if (consumer.isConnected()) {
        // A partition stays paused when it is assigned again.
        consumer.resume(physical(questions.map(({ of }) => of)));
        consumer.unassign();
      }
    }
  }

  #inTurn<T>(work: (consumer: StandaloneConsumer) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      clearTimeout(this.#idle);
      try {
        this.#connecting ??= this.#connect({
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

function physical(partitions: readonly TopicPartition[]): TopicPartition[] {
  return partitions.map((of) => ({ ...of, topic: physicalTopic(of.topic) }));
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** Answers each question by the first record from its offset on. Rejects when one does not come. */
async function answerFrom(
  consumer: StandaloneConsumer,
  open: Map<string, Question>,
): Promise<void> {
  for (const deadline = performance.now() + ANSWER_MS; performance.now() < deadline;) {
    const messages = await pollStandalone(consumer, { maxRecords: POLL_RECORDS, ms: POLL_MS });
    const answered: TopicPartition[] = [];
    for (const message of messages) {
      const question = open.get(keyOf(message));
      if (!question || message.offset < question.offset) continue;
      question.answer(message.offset === question.offset ? message : undefined);
      open.delete(keyOf(message));
      answered.push(question.of);
    }
    if (open.size === 0) return;
    // The rest of an answered partition would arrive before the records of others.
    if (answered.length > 0) consumer.pause(physical(answered));
  }
  const [first] = open.values();
  throw new Error(
    `no record of ${first?.of.topic ?? ''} ${first?.of.partition ?? ''} came at offset ${first?.offset ?? ''}`,
  );
}
