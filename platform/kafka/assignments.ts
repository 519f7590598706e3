import { backoffDelay, delay } from '../backoff.ts';
import { KafkaError, type ConsumerClient } from './consumer-client.ts';
import { consumerMetrics, type ConsumerMetrics } from './consumer-metrics.ts';
import type {
  ConsumedMessage,
  PartitionConsumerOptions,
  PartitionLag,
  PartitionTask,
} from './consumer-types.ts';
import { OffsetCommitter } from './offset-committer.ts';
import { PartitionWorker } from './partition-worker.ts';

/** Default time that a rebalance waits for running batches, ms. */
const DRAIN_TIMEOUT_MS = 4000;

/** The partitions assigned to this process, each with its own worker. */
export class Assignments {
  readonly #options: PartitionConsumerOptions;
  readonly #workers = new Map<number, PartitionWorker>();
  /** Partitions being fetched; a worker whose task is not ready is not fetched yet. */
  readonly #read = new Set<number>();
  readonly #committer: OffsetCommitter;
  readonly #metrics: ConsumerMetrics;
  #leaving = false;
  client: ConsumerClient | undefined;

  constructor(options: PartitionConsumerOptions) {
    this.#options = options;
    this.#metrics = consumerMetrics({
      registry: options.registry,
      topic: options.topic,
      lag: () => this.lag(),
      unknownSchemas: () => this.unknownSchemas(),
    });
    this.#committer = new OffsetCommitter({
      log: options.log,
      retryAfter: 500,
      timeout: 15_000,
      send: (offsets) => this.#connected().commit(offsets),
    });
  }

  partitions(): number[] {
    return [...this.#workers.keys()].sort((a, b) => a - b);
  }

  lag(): PartitionLag[] {
    return [...this.#workers.values()].map(({ partition, position, seen, oldest }) => {
      const end = Math.max(this.client?.end(partition) ?? 0, seen ?? 0);
      const age = oldest === undefined ? 0 : Math.max(0, Date.now() - oldest);
      return { partition, records: Math.max(0, end - (position ?? 0)), age };
    });
  }

  /** Partitions whose next record has a schema that this release does not know. */
  unknownSchemas(): { partition: number; offset: number; detail: string }[] {
    return [...this.#workers.values()].flatMap(({ partition, unknownSchema }) =>
      unknownSchema ? [{ partition, ...unknownSchema }] : [],
    );
  }

  assign(partitions: readonly number[]): void {
    const { log, topic } = this.#options;
    this.#connected().acceptAssignment();
    if (this.#leaving) return;
    if (partitions.length > 0) log.info({ topic, partitions }, 'partitions assigned');
    for (const partition of partitions) this.#workers.set(partition, this.#worker(partition));
  }

  /** Resolves when the partitions may be assigned to another member. */
  async revoke(partitions: readonly number[]): Promise<void> {
    const { log, topic } = this.#options;
    if (partitions.length > 0) log.info({ topic, partitions }, 'partitions revoked');
    await Promise.all(partitions.map((partition) => this.#drain(partition)));
    for (const partition of partitions) {
      this.#workers.delete(partition);
      this.#committer.forget(partition);
    }
    this.#connected().unassign(partitions.filter((partition) => this.#read.delete(partition)));
  }

  /** Accepts no new partitions, drains the workers (bounded) and flushes pending commits. */
  async drain(): Promise<void> {
    this.#leaving = true;
    await Promise.all(this.partitions().map((partition) => this.#drain(partition)));
    await this.#committer.flush(2000);
    this.#committer.close();
  }

  deliver(messages: readonly ConsumedMessage[]): void {
    const now = performance.now();
    for (const message of messages) this.#workers.get(message.partition)?.push(message, now);
  }

  /** Outcome of the pending commit. */
  committed(error: KafkaError | undefined): void {
    if (error) this.#metrics.commitFailed();
    this.#committer.complete(error);
  }

  #worker(partition: number): PartitionWorker {
    const { log, batch } = this.#options;
    const worker: PartitionWorker = new PartitionWorker({
      partition,
      log,
      limits: batch,
      crash: (error) => this.#options.crash(error),
      open: (fenced) => this.#open(partition, fenced),
      pause: () => this.client?.pause(partition),
      resume: () => this.client?.resume(partition),
      commit: (offset) => this.#committer.commit(partition, offset),
      onProcessed: (report) => this.#metrics.processed(partition, report),
    });
    return worker;
  }

  async #open(partition: number, fenced: AbortSignal): Promise<PartitionTask> {
    const committed = await this.#committedOffset(partition, fenced);
    const task = await this.#options.assigned(partition, committed, fenced);
    const worker = this.#workers.get(partition);
    if (fenced.aborted || !worker) return task;
    const from = task.from ?? committed;
    worker.position = from;
    this.#connected().assign(partition, from);
    this.#read.add(partition);
    return task;
  }

  /** Errors right after Kafka starts are transient: retried until revocation. */
  async #committedOffset(partition: number, fenced: AbortSignal): Promise<number | undefined> {
    for (let attempt = 0; ; attempt++) {
      fenced.throwIfAborted();
      try {
        return await this.#connected().committed(partition);
      } catch (error) {
        if (!(error instanceof KafkaError) || error.fatal) throw error;
        this.#options.log.debug(
          { err: error, partition },
          'the committed offset is not available yet; retrying',
        );
        await delay(
          50 + backoffDelay({ base: 100, cap: 1000, attempt, random: Math.random() }),
          fenced,
        );
      }
    }
  }

  async #drain(partition: number): Promise<void> {
    await this.#workers.get(partition)?.drain(this.#options.drain ?? DRAIN_TIMEOUT_MS);
  }

  #connected(): ConsumerClient {
    if (!this.client) throw new KafkaError(new Error('not connected to Kafka'));
    return this.client;
  }
}
