import type { LogRecord } from '../../ingest/log-record.ts';
import { BATCH_BYTES, PublishFailed, type LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import type { AppendLimits } from '../spool/append-queue.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { Spool, TopicPartition } from '../spool/spool.ts';
import { ActiveClock } from './active-clock.ts';
import type { ConnectLog } from './connect-log.ts';
import type { BlockedReason } from './drain-options.ts';
import { TOO_LARGE } from './drain-group.ts';
import type { Phase } from './evolve.ts';
import { InFlight, type Entry, type Flow, type Waiter } from './in-flight.ts';
import type { KnownTopics } from './known-topics.ts';
import { DrainedQueue, type DrainContext } from './drained-queue.ts';
import { PartitionQueue } from './partition-queue.ts';
import { RefusedRecords } from './refused-records.ts';
import { silentPartitions, mayBlock } from './silence.ts';
import { Waiting } from './waiting.ts';

export interface PublisherOptions {
  spool: Spool;
  connect: ConnectLog;
  topics: KnownTopics;
  /** Reads the record limits again while they are too low. */
  readLimits?: () => Promise<ReadonlyMap<string, number>>;
  log: Log;
  /** A partition that acknowledges nothing for this long has failed, ms. */
  timeout: number;
  /** Bytes that may wait for acknowledgements; as many may wait in memory to be sent. */
  maxInFlightBytes: number;
  /** Pause before another attempt to reach Kafka, ms. */
  retry?: { base: number; cap: number };
  onAcknowledged?: (milliseconds: number) => void;
}

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
  readonly #options: PublisherOptions;
  readonly #context: DrainContext;
  readonly #inFlight: InFlight;
  readonly #waiting: Waiting;
  readonly #main: DrainedQueue;
  readonly #clock: ActiveClock;
  readonly #refused: RefusedRecords;
  readonly #timer: NodeJS.Timeout;
  /** Of the clock and of the checks, ms. */
  readonly #period: number;
  #isPumping = false;
  readonly counters = {
    acknowledged: 0,
    spooled: 0,
    refused: 0,
    drained: 0,
    failures: 0,
    setAside: 0,
    tooLarge: 0,
  };

  constructor(options: PublisherOptions) {
    this.#options = options;
    const { spool, topics, timeout, maxInFlightBytes } = options;
    const period = Math.max(20, timeout / 10);
    this.#period = period;
    this.#clock = new ActiveClock({ period, now: now() });
    this.#inFlight = new InFlight(topics.limitOf);
    this.#waiting = new Waiting(maxInFlightBytes);
    this.#refused = new RefusedRecords({
      quarantine: spool.quarantine,
      topics,
      publish: (records) => this.publish(records),
      readLimits: options.readLimits,
      onLimits: () => this.#inFlight.readLimits(),
      log: options.log,
    });
    this.#context = {
      ...options,
      clock: () => this.#clock.value,
      retry: options.retry ?? RETRY,
      counters: this.counters,
    };
    this.#main = new DrainedQueue({
      queue: spool.main,
      context: this.#context,
      name: 'main',
      sideOf: ({ topic, partition }) => this.#inFlight.of(topic, partition).side,
      onSilent: (silent, { isAnyAlive, isLast }) =>
        (isAnyAlive || isLast) && this.#blockAll(silent.map((of) => this.#flowOf(of))),
      onPartitionFailed: (of) => void this.#blockAll([this.#flowOf(of)]),
      spoolHeld: () => this.#spoolHeld(),
      sendHeld: () => this.#sendHeld(),
      onConnected: () => this.#refused.connected(),
    });
    for (const of of spool.occupied) this.#block(this.#flowOf(of));
    this.#timer = setInterval(() => this.#check(), period);
    this.#timer.unref();
    this.#main.start();
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
    return this.#inFlight.flows.filter(({ side }) => side !== undefined);
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
   */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    return new Promise((resolve) => {
      const waiter: Waiter = { left: records.length, refused: [], resolve };
      if (records.length === 0) resolve(NONE_REFUSED);
      for (const record of records)
        this.#accept({
          record,
          waiter,
          sentAt: 0,
          activeSince: 0,
          isComplete: false,
          flow: undefined,
        });
    });
  }

  /** Waits up to `ms` for acknowledgements; the rest goes into the spool, which stays open. */
  async close(ms: number): Promise<void> {
    const until = now() + ms;
    while (
      this.#inFlight.records + this.#waiting.records > 0 &&
      now() < until &&
      this.#main.phase === 'direct'
    )
      await new Promise((resolve) => setTimeout(resolve, 10));
    clearInterval(this.#timer);
    this.#main.close();
    for (const { side } of this.#inFlight.flows) side?.close();
  }

  #accept(entry: Entry): void {
    const { topic, partition, value } = entry.record;
    if (value.length > this.#inFlight.limitOf(topic)) return this.#refuseTooLarge(entry);
    switch (this.#main.route) {
      case 'log':
        if (
          this.#waiting.records === 0 &&
          this.#inFlight.bytes + value.length <= this.#maxInFlightBytes
        )
          return this.#dispatch(entry, 'memory_and_disk');
        if (!this.#waiting.push(entry)) return this.#refuse(entry);
        // A record that is larger than the limit is sent when nothing is in flight.
        return this.#pump();
      case 'hold':
        this.#inFlight.of(topic, partition).push(entry);
        if (this.#inFlight.bytes > this.#maxInFlightBytes) this.#main.emit('overflowed');
        return;
      case 'spool':
        return this.#append(entry, { queue: this.#options.spool.main, limits: 'memory_and_disk' });
      case 'refuse':
        return this.#refuse(entry);
    }
  }

  get #maxInFlightBytes(): number {
    return this.#options.maxInFlightBytes;
  }

  #flowOf({ topic, partition }: TopicPartition): Flow {
    return this.#inFlight.of(topic, partition);
  }

  /** To Kafka, or to the side of a partition that cannot be written. */
  #dispatch(entry: Entry, limits: AppendLimits): void {
    const flow = this.#inFlight.of(entry.record.topic, entry.record.partition);
    if (flow.side) return flow.side.accept(entry, limits);
    flow.push(entry);
    this.#send(entry, flow);
  }

  #send(entry: Entry, flow: Flow): void {
    entry.sentAt = now();
    entry.activeSince = this.#clock.value;
    try {
      this.#main.producer?.send(entry.record, (error) => {
        if (error) this.#failed({ entry, flow, error });
        else {
          this.counters.acknowledged++;
          this.#options.onAcknowledged?.(now() - entry.sentAt);
          if (entry.flow === flow) flow.lastAcknowledged = this.#clock.value;
          this.#complete(entry, true);
        }
      });
    } catch (error) {
      this.#failed({ entry, flow, error });
    }
  }

  /** Late reports of records that were spooled meanwhile do not matter. */
  #failed({ entry, flow, error }: { entry: Entry; flow: Flow; error: unknown }): void {
    if (entry.flow !== flow) return;
    const code = error instanceof PublishFailed ? error.kafkaCode : undefined;
    const reason = error instanceof Error ? error.message : String(error);
    if (code === TOO_LARGE) {
      const { topic, value } = entry.record;
      if (value.length > BATCH_BYTES) this.#options.topics.learnRefusal(topic, value.length);
      this.#refuseTooLarge(entry);
      // The producer is unusable. What it refuses with this record is reported first.
      const { producer } = this.#main;
      setImmediate(() => {
        if (producer && producer === this.#main.producer) this.#main.fail(reason);
      });
      return;
    }
    // Positive codes are Kafka's answers; it may answer otherwise for other partitions.
    if (code !== undefined && code > 0) this.#blockAll([flow]);
    this.#main.fail(reason);
  }

  #append(entry: Entry, { queue, limits }: { queue: SpoolQueue; limits: AppendLimits }): void {
    queue.append(
      entry.record,
      (error) => {
        if (error) return this.#refuse(entry);
        this.counters.spooled++;
        this.#complete(entry, true);
      },
      limits,
    );
  }

  #refuseTooLarge(entry: Entry): void {
    this.counters.tooLarge++;
    this.#refuse(entry);
  }

  #refuse(entry: Entry): void {
    this.counters.refused++;
    this.#complete(entry, false);
  }

  /** Only the first result of an entry counts; it may come from an earlier producer. */
  #complete(entry: Entry, isDurable: boolean): void {
    if (entry.isComplete) return;
    entry.isComplete = true;
    entry.flow?.remove(entry);
    const { waiter } = entry;
    if (!isDurable) waiter.refused.push(entry.record);
    if (--waiter.left === 0) waiter.resolve(waiter.refused);
    if (this.#waiting.records > 0) this.#pump();
  }

  /** Sends waiting records while there is room; a record that is refused at once calls it again. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#main.route === 'log') {
      const isIdle = this.#inFlight.records === 0;
      const room = isIdle ? Infinity : this.#maxInFlightBytes - this.#inFlight.bytes;
      const entry = this.#waiting.take(room);
      if (!entry) break;
      this.#dispatch(entry, 'disk');
    }
    this.#isPumping = false;
  }

  /**
   * What is in flight first, then what waits; each in order. What sides hold in memory is older
   * than what follows in the main queue, so it must not come back behind that.
   */
  #spoolHeld(): void {
    for (const { side } of this.#inFlight.flows) side?.spoolHeld();
    const queue = this.#options.spool.main;
    for (const entry of this.#inFlight.removeAll()) this.#append(entry, { queue, limits: 'disk' });
    for (const entry of this.#waiting.removeAll()) this.#append(entry, { queue, limits: 'disk' });
  }

  #sendHeld(): void {
    this.#options.log.info('records go straight to Kafka');
    for (const flow of this.#inFlight.flows)
      for (const entry of flow.side ? flow.removeAll() : flow.entries()) {
        if (flow.side) flow.side.accept(entry, 'disk');
        else if (this.#main.route === 'log') this.#send(entry, flow);
      }
  }

  #check(): void {
    this.#clock.tick(now());
    this.#inFlight.readLimits();
    this.#refused.check(this.#clock.value);
    if (this.#main.route !== 'log') return;
    const { timeout } = this.#options;
    const clock = this.#clock.value;
    const { silent, isAnyAlive } = silentPartitions(this.#inFlight.flows, {
      timeout: timeout + this.#period,
      clock,
    });
    if (silent.length === 0 || (isAnyAlive && this.#blockAll(silent))) return;
    this.#main.fail(`nothing was acknowledged for ${timeout} ms`);
  }

  /** False: with these, too many partitions cannot be written; then Kafka is unavailable. */
  #blockAll(flows: readonly Flow[]): boolean {
    const partitions = this.#options.topics.partitions;
    const fresh = flows.filter(({ side }) => side === undefined);
    const blocked = this.blockedPartitions.length;
    if (!mayBlock({ blocked, more: fresh.length, partitions })) return false;
    for (const flow of fresh) {
      this.#options.log.error(
        { code: 'partition_blocked', topic: flow.topic, partition: flow.partition },
        `partition ${flow.partition} of ${flow.topic} cannot be written while others can: its records go to a queue of its own in the spool until it can. Look at its leader and in-sync replicas`,
      );
      this.#block(flow);
    }
    this.#pump();
    return true;
  }

  #block(flow: Flow): void {
    const { topic, partition } = flow;
    const side = new PartitionQueue({
      topic,
      partition,
      queue: this.#options.spool.of(flow),
      context: this.#context,
      append: (entry, to) => this.#append(entry, to),
      refuse: (entry) => this.#refuse(entry),
      onDrained: (held) => {
        flow.side = undefined;
        this.#options.log.info({ topic, partition }, 'the partition can be written again');
        // They were accepted already: neither the limit of what is in flight nor a turn applies.
        for (const entry of held)
          if (this.#main.route === 'log') this.#dispatch(entry, 'disk');
          else this.#append(entry, { queue: this.#options.spool.main, limits: 'disk' });
      },
    });
    flow.side = side;
    // While other records are spooled, those of this partition stay in order among them.
    if (this.#main.route === 'log')
      for (const entry of flow.removeAll()) side.accept(entry, 'disk');
  }
}
