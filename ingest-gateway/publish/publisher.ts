import type { LogRecord } from '../../ingest/log-record.ts';
import { BufferPool } from '../../platform/buffer-pool.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { TopicPartition } from '../spool/spool.ts';
import { ActiveClock } from './active-clock.ts';
import { BlockedPartitions } from './blocked-partitions.ts';
import { BULK_RECORDS, BulkShare } from './bulk-share.ts';
import { Completions } from './completions.ts';
import type { BlockedReason } from './drain-options.ts';
import { DrainedQueue } from './drained-queue.ts';
import type { Phase } from './evolve.ts';
import { InFlight, newEntry, type Flow, type Waiter } from './in-flight.ts';
import { LogSender } from './log-sender.ts';
import type { PublisherOptions } from './publisher-options.ts';
import { RecordRouter } from './record-router.ts';
import { RefusedRecords } from './refused-records.ts';
import { silentPartitions } from './silence.ts';
import { Waiting } from './waiting.ts';

const RETRY = { base: 100, cap: 5000 };
const NONE_REFUSED: readonly LogRecord[] = [];
const now = () => performance.now();

/**
 * Makes records durable in the order they arrive: acknowledged by Kafka with acks=all, or fsynced
 * in the spool (ARCHITECTURE.md, G1 and G3). Everything accepted before a record of the same
 * account and partition was acknowledged earlier or is sent before it by the same producer, so the
 * first occurrences in a partition are in order. A repeat has the same gateway and sequence number
 * as its first occurrence.
 */
export class Publisher {
  readonly #timeout: number;
  readonly #share: BulkShare;
  readonly #inFlight: InFlight;
  readonly #waiting: Waiting;
  readonly #completions: Completions;
  readonly #main: DrainedQueue;
  readonly #router: RecordRouter;
  readonly #blocked: BlockedPartitions;
  readonly #clock: ActiveClock;
  readonly #refused: RefusedRecords;
  readonly #timer: NodeJS.Timeout;
  /** Of the clock and of the checks, ms. */
  readonly #period: number;

  constructor(options: PublisherOptions) {
    const { spool, topics, timeout, maxInFlightBytes, log } = options;
    this.#timeout = timeout;
    this.#period = Math.max(20, timeout / 10);
    const clock = (this.#clock = new ActiveClock({ period: this.#period, now: now() }));
    const share = (this.#share = new BulkShare());
    const inFlight = (this.#inFlight = new InFlight(topics.limitOf, share));
    const waiting = (this.#waiting = new Waiting(maxInFlightBytes, share));
    const completions = (this.#completions = new Completions(() => this.#router.pump()));
    this.#refused = new RefusedRecords({
      quarantine: spool.quarantine,
      topics,
      publish: (records) => this.publish(records),
      readLimits: options.readLimits,
      onLimits: () => inFlight.readLimits(),
      log,
    });
    const { counters } = completions;
    const retry = options.retry ?? RETRY;
    const context = { ...options, clock: () => clock.value, retry, counters };
    const main = (this.#main = new DrainedQueue({
      queue: spool.main,
      context,
      name: 'main',
      sideOf: (of) => this.#flowOf(of).side,
      onSilent: (silent, { isAnyAlive, isLast }) =>
        (isAnyAlive || isLast) && this.#blockAll(silent.map((of) => this.#flowOf(of))),
      onPartitionFailed: (of) => void this.#blockAll([this.#flowOf(of)]),
      spoolHeld: () => this.#router.spoolHeld(),
      sendHeld: () => this.#router.sendHeld(),
      onConnected: () => this.#refused.connected(),
    }));
    const sender = new LogSender({
      ...{ main, completions, topics, clock },
      onPartitionFailed: (flow) => void this.#blockAll([flow]),
      onAcknowledged: options.onAcknowledged,
      buffers: options.buffers ?? new BufferPool({ maxFreeBytes: 0 }),
      batches: options.batches && {
        ...options.batches,
        limitOf: (topic) => inFlight.limitOf(topic),
      },
    });
    const shared = { main, inFlight, completions, log };
    this.#router = new RecordRouter({
      ...{ ...shared, queue: spool.main, waiting, sender, maxInFlightBytes },
    });
    this.#blocked = new BlockedPartitions({
      ...{ ...shared, spool, context, topics },
      resume: (entry) => this.#router.resume(entry),
    });
    for (const of of spool.occupied) this.#blocked.block(this.#flowOf(of));
    this.#timer = setInterval(() => this.#check(), this.#period);
    this.#timer.unref();
    main.start();
  }

  get counters(): Completions['counters'] {
    return this.#completions.counters;
  }

  get phase(): Phase {
    return this.#main.phase;
  }

  get inFlight(): { records: number; bytes: number } {
    return this.#inFlight;
  }

  /** Everything that was published is in Kafka. */
  get isDrained(): boolean {
    const { phase } = this.#main;
    return (
      phase === 'direct' &&
      this.#inFlight.records + this.#waiting.records === 0 &&
      this.blockedPartitions.length === 0
    );
  }

  /** The producer of what goes straight to Kafka; undefined while it is unreachable. */
  get producer(): LogProducer | undefined {
    return this.#main.producer;
  }

  /** Connects again: what is in flight goes through the spool. */
  reconnect(reason: string): void {
    this.#main.fail(reason);
  }

  /** Records in memory that are sent when others are acknowledged. */
  get waiting(): { records: number; bytes: number } {
    return this.#waiting;
  }

  /** Partitions that cannot be written; their records wait on disk. */
  get blockedPartitions(): TopicPartition[] {
    return this.#blocked.all;
  }

  /** Why a queue of the spool cannot drain, by reason. */
  get blockedDrains(): ReadonlyMap<BlockedReason, string> {
    const all = [this.#main, ...this.#inFlight.flows.map(({ side }) => side)];
    return new Map(
      all.flatMap((queue) =>
        queue?.blocked ? [[queue.blocked.reason, queue.blocked.message]] : [],
      ),
    );
  }

  /**
   * Resolves with the refused records when each one is durable or refused. A refused record may be
   * in the log or not: its request is answered 503. Never rejects.
   * @param records of one account: those of a bulk request count in its share. Their values belong
   * to the publisher, which may use their memory again
   */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    const [first] = records;
    if (!first) return Promise.resolve(NONE_REFUSED);
    return new Promise((resolve) => {
      const waiter: Waiter = { bulk: undefined, left: records.length, refused: [], resolve };
      if (records.length > BULK_RECORDS) this.#makeBulk(waiter, first.accountId);
      for (const record of records) this.#router.accept(newEntry(record, waiter));
    });
  }

  #makeBulk(waiter: Waiter, accountId: number): void {
    const { resolve } = waiter;
    const bulk = (waiter.bulk = this.#share.begin(accountId));
    waiter.resolve = (refused) => {
      this.#share.end(bulk);
      resolve(refused);
    };
  }

  /** Waits up to `ms` for acknowledgements; the rest goes into the spool, which stays open. */
  async close(ms: number): Promise<void> {
    const until = now() + ms;
    const isBusy = () => this.#inFlight.records + this.#waiting.records > 0;
    while (isBusy() && now() < until && this.#main.phase === 'direct')
      await new Promise((resolve) => setTimeout(resolve, 10));
    clearInterval(this.#timer);
    this.#main.close();
    for (const { side } of this.#inFlight.flows) side?.close();
  }

  #flowOf({ topic, partition }: TopicPartition): Flow {
    return this.#inFlight.of(topic, partition);
  }

  #check(): void {
    this.#clock.tick(now());
    this.#inFlight.readLimits();
    this.#refused.check(this.#clock.value);
    if (this.#main.route !== 'log') return;
    const { silent, isAnyAlive } = silentPartitions(this.#inFlight.flows, {
      timeout: this.#timeout + this.#period,
      clock: this.#clock.value,
    });
    if (silent.length === 0 || (isAnyAlive && this.#blockAll(silent))) return;
    this.#main.fail(`nothing was acknowledged for ${this.#timeout} ms`);
  }

  /** See BlockedPartitions; the others have room now. */
  #blockAll(flows: readonly Flow[]): boolean {
    if (!this.#blocked.blockAll(flows)) return false;
    this.#router.pump();
    return true;
  }
}
