import { backoffDelay, delay } from '../backoff.ts';
import { BatchPace } from './batch-pace.ts';
import { KafkaError, type ConsumerClient } from './consumer-client.ts';
import { consumerMetrics, type ConsumerMetrics } from './consumer-metrics.ts';
import type {
  BatchLimits,
  ConsumedMessage,
  PartitionConsumerOptions,
  PartitionLag,
  PartitionTask,
} from './consumer-types.ts';
import type { LogEnds } from '../log/evidence.ts';
import { retryUntilAborted } from '../retry-until-aborted.ts';
import type { LogGuard } from './log-guard.ts';
import { OffsetCommitter } from './offset-committer.ts';
import { PartitionWorker } from './partition-worker.ts';
import { formerTopic } from './topic-names.ts';
import { traced } from './traced-task.ts';
import { shareLimits } from './share-limits.ts';

/** Minimum time between two commits of evidence, ms. */
const COMMIT_INTERVAL_MS = 250;

/** How long a revocation waits for the commits of what was processed, ms. */
const FLUSH_TIMEOUT_MS = 1000;

/** A record that is in the log arrives within this time, ms. */
const ARRIVAL_MS = 2000;

/** How long a rebalance waits for commits, ms. */
const REVOKE_FLUSH_MS = 1000;
/** Default time that a rebalance waits for running batches, ms. */
const DRAIN_TIMEOUT_MS = 4000;

interface AssignmentsOptions extends PartitionConsumerOptions {
  /** What a task gets of a record; absent: the record. */
  read?: ((message: ConsumedMessage) => ConsumedMessage) | undefined;
}

/** The partitions assigned to this process, each with its own worker. */
export class Assignments {
  readonly #options: AssignmentsOptions;
  readonly #workers = new Map<number, PartitionWorker>();
  /** Partitions being fetched; a worker whose task is not ready is not fetched yet. */
  readonly #read = new Set<number>();
  /** Where each partition was when it was last looked at. */
  readonly #silent = new Map<number, number>();
  readonly #committer: OffsetCommitter;
  readonly #metrics: ConsumerMetrics;
  /** Of each partition; they depend on how many there are. */
  #limits: BatchLimits;
  readonly #pace = new BatchPace();
  #leaving = false;
  guard: LogGuard | undefined;
  client: ConsumerClient | undefined;

  constructor(options: AssignmentsOptions) {
    this.#options = options;
    this.#limits = options.batch;
    this.#metrics = consumerMetrics({
      registry: options.registry,
      topic: options.topic,
      lag: () => this.lag(),
      unknownSchemas: () => this.unknownSchemas(),
      refused: () => this.guard?.refused() ?? [],
    });
    const { evidence } = options;
    const isEvidenceBeforeCommit = evidence !== undefined && evidence.before !== 'process';
    this.#committer = new OffsetCommitter({
      log: options.log,
      retryAfter: 500,
      timeout: 15_000,
      before: isEvidenceBeforeCommit ? () => this.#evidenceStored() : undefined,
      interval: isEvidenceBeforeCommit ? COMMIT_INTERVAL_MS : undefined,
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
    this.#shareLimits();
  }

  /** Resolves when the partitions may be assigned to another member. */
  async revoke(partitions: readonly number[]): Promise<void> {
    const { log, topic } = this.#options;
    if (partitions.length > 0) log.info({ topic, partitions }, 'partitions revoked');
    await Promise.all(partitions.map((partition) => this.#drain(partition)));
    // What was processed is not processed again by the next owner.
    await this.#committer.flush(REVOKE_FLUSH_MS);
    await this.#release(partitions);
  }

  /** The client has failed for good: another one gets the partitions. */
  async abandon(): Promise<void> {
    try {
      await this.#release(this.partitions());
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error;
    }
    // The outcome of a commit of that client would be waited for.
    this.#committer.complete(undefined);
  }

  /** The log under these partitions may be another one: compares it and starts them again. */
  async reopen(partitions: readonly number[]): Promise<void> {
    const open = partitions.filter((partition) => this.#read.has(partition));
    if (open.length === 0 || this.#leaving) return;
    await this.#release(open);
    for (const partition of open) this.#workers.set(partition, this.#worker(partition));
    this.#shareLimits();
  }

  async #release(partitions: readonly number[]): Promise<void> {
    await Promise.all(partitions.map((partition) => this.#drain(partition)));
    // Otherwise the next owner processes again what has just been processed.
    await this.#committer.flush(FLUSH_TIMEOUT_MS);
    for (const partition of partitions) {
      this.#workers.delete(partition);
      this.#committer.forget(partition);
      this.guard?.forget(partition);
    }
    this.#shareLimits();
    this.#connected().unassign(partitions.filter((partition) => this.#read.delete(partition)));
  }

  #shareLimits(): void {
    this.#limits = shareLimits(this.#options.batch, this.#workers.size);
  }

  /**
   * Partitions whose log may have gone back although no error was reported: the position is past
   * the end, or records are in the log and none arrives.
   */
  async stalled(): Promise<number[]> {
    const found: number[] = [];
    for (const partition of this.#read) {
      const worker = this.#workers.get(partition);
      const before = worker?.seen ?? worker?.position;
      if (!worker || before === undefined || worker.isPaused) continue;
      const isSilent = this.#silent.get(partition) === before;
      this.#silent.set(partition, before);
      if (!isSilent) continue;
      if ((await this.#connected().ends(partition)).high === before) continue;
      // A record that has just been appended arrives meanwhile.
      await delay(ARRIVAL_MS);
      if ((worker.seen ?? worker.position) === before) found.push(partition);
    }
    return found;
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
    const { log } = this.#options;
    const worker: PartitionWorker = new PartitionWorker({
      partition,
      log,
      // A smaller insert costs ClickHouse as much as a large one.
      limits: () => (this.#limits.isInsert ? this.#limits : this.#pace.of(this.#limits)),
      read: this.#options.read,
      valuesUntil: this.#options.valuesUntil,
      crash: (error) => this.#options.crash(error),
      open: (fenced) => this.#open(partition, fenced),
      pause: () => this.client?.pause(partition),
      resume: () => this.client?.resume(partition),
      commit: (offset) => this.#committer.commit(partition, offset),
      beforeBatch: (last) => this.#beforeBatch(partition, last),
      onProcessed: (report) => {
        this.#pace.ended(report.durationMs);
        this.#metrics.processed(partition, report);
      },
      onInterrupted: () => this.#pace.interrupted(),
      onMissed: (records) => this.#metrics.missed(partition, records),
    });
    return worker;
  }

  async #open(partition: number, fenced: AbortSignal): Promise<PartitionTask> {
    const readCommitted = () => this.#committedOffset(partition, fenced);
    for (;;) {
      const admitted = await this.guard?.admit(partition, readCommitted, fenced);
      const committed = admitted ? admitted.from : await readCommitted();
      const { groupId: group, topic } = this.#options;
      const task = traced(await this.#options.assigned(partition, committed, fenced), {
        ...{ group, topic, partition },
      });
      this.#passEvidence(task);
      const worker = this.#workers.get(partition);
      if (fenced.aborted || !worker) return task;
      const from = task.from ?? committed;
      const ends = admitted ?? (await this.#ends(partition, fenced));
      if (admitted && from !== undefined && from > ends.high) {
        await this.guard?.admit(partition, () => Promise.resolve(from), fenced);
        await task.release();
        continue;
      }
      worker.position = from;
      // Without evidence a position past the end begins again, as one that retention overtook.
      const isGone = from !== undefined && (from < ends.low || from > ends.high);
      this.#connected().assign(partition, isGone ? ends.low : from);
      this.#read.add(partition);
      this.#silent.delete(partition);
      if (from !== undefined && from < ends.low)
        worker.skipTo(ends.low, Math.max(from, task.processed ?? from));
      // Otherwise each next start would report it again.
      if (committed !== undefined && committed < ends.low)
        this.#committer.commit(partition, ends.low);
      // An offset of the topic that this one replaced becomes one of this topic before that goes.
      else if (committed !== undefined && formerTopic(this.#options.topic) !== undefined)
        this.#committer.commit(partition, committed);
      return task;
    }
  }

  #passEvidence(task: PartitionTask): void {
    if (this.#options.evidence?.before !== 'effects') return;
    if (!task.beforeEffects)
      throw new Error(`a task of ${this.#options.topic} does not say before which effects`);
    task.beforeEffects(() => this.#evidenceStored());
  }

  #evidenceStored(): Promise<void> {
    return this.guard?.flush() ?? Promise.resolve();
  }

  #ends(partition: number, fenced: AbortSignal): Promise<LogEnds> {
    const { log, topic } = this.#options;
    const what = `reading the ends of ${topic}`;
    return retryUntilAborted({ log, signal: fenced, code: 'log_check', what }, () =>
      this.#connected().ends(partition),
    );
  }

  #beforeBatch(partition: number, last: ConsumedMessage): Promise<void> | undefined {
    if (!this.guard) return undefined;
    this.guard.seen(partition, last);
    return this.#options.evidence?.before === 'process' ? this.guard.flush() : undefined;
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
