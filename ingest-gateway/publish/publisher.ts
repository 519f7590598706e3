import { backoffDelay } from '../../platform/backoff.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import type { Spool } from '../spool/spool.ts';
import type { LogRecord } from '../../ingest/log-record.ts';
import { drainSpool, RecordRefused } from './drain.ts';
import {
  evolve,
  initialState,
  routeOf,
  type Action,
  type Fact,
  type Phase,
  type PublisherState,
  type Route,
} from './evolve.ts';
import { InFlight, type Entry, type Waiter } from './in-flight.ts';

export interface PublisherOptions {
  spool: Spool;
  /** Makes a producer and reads the topics' partitions; rejects without Kafka. */
  connect: () => Promise<{ producer: LogProducer; partitions: ReadonlyMap<string, number> }>;
  log: Log;
  /** A record without an acknowledgement for this long has failed, ms. */
  timeout: number;
  /** Bytes that may wait for acknowledgements; above it records go to the spool. */
  maxInFlightBytes: number;
  /** Pause before another attempt to reach Kafka, ms. */
  retry?: { base: number; cap: number };
  onPartitions?: (partitions: ReadonlyMap<string, number>) => void;
  onAcknowledged?: (milliseconds: number) => void;
}

/**
 * A drained group has this many times the timeout of a request's records: no client waits for it,
 * and a shorter one would send a slow Kafka the same group for ever.
 */
const DRAIN_TIMEOUT_FACTOR = 10;
const RETRY = { base: 100, cap: 5000 };
const NONE_REFUSED: readonly LogRecord[] = [];
const now = () => performance.now();

/**
 * Makes records durable in the order they arrive: acknowledged by Kafka with acks=all, or fsynced
 * in the spool (ARCHITECTURE.md, G1 and G3). Everything accepted before a record was acknowledged
 * earlier or is sent before it by the same producer, so the first occurrences in a partition are in
 * order. A repeat has the same gateway and sequence number as its first occurrence.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #inFlight = new InFlight();
  readonly #timer: NodeJS.Timeout;
  #state: PublisherState = initialState;
  /** That of #state; kept because every record reads it. */
  #route: Route = routeOf(initialState);
  #producer: LogProducer | undefined;
  #partitions: ReadonlyMap<string, number> = new Map();
  /** Rises with every producer; reports of earlier producers are ignored. */
  #generation = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  /** The last drain found a record that Kafka refuses; the next one finds it. */
  #isOneByOne = false;
  readonly counters = {
    acknowledged: 0,
    spooled: 0,
    refused: 0,
    drained: 0,
    failures: 0,
    setAside: 0,
  };

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#checkOldest(), Math.max(20, options.timeout / 10));
    this.#timer.unref();
    this.#connect();
  }

  get phase(): Phase {
    return this.#state.phase;
  }

  get inFlight(): { records: number; bytes: number } {
    return this.#inFlight;
  }

  /**
   * Resolves with the refused records when each one is durable or refused. A refused record may be
   * in the log or not: its request is answered 503. Never rejects.
   */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    return new Promise((resolve) => {
      const waiter: Waiter = { left: records.length, refused: [], resolve };
      if (records.length === 0) resolve(NONE_REFUSED);
      const since = now();
      for (const record of records)
        this.#accept({ record, waiter, since, isComplete: false, isHeld: false });
    });
  }

  /** Waits up to `ms` for acknowledgements; the rest goes into the spool, which stays open. */
  async close(ms: number): Promise<void> {
    const until = now() + ms;
    while (this.#inFlight.records > 0 && now() < until && this.#state.phase === 'direct')
      await new Promise((resolve) => setTimeout(resolve, 10));
    clearInterval(this.#timer);
    clearTimeout(this.#retryTimer);
    this.#emit('closing');
  }

  #accept(entry: Entry): void {
    switch (this.#route) {
      case 'log':
        this.#inFlight.push(entry);
        if (this.#inFlight.bytes > this.#options.maxInFlightBytes)
          this.#fail('more is in flight than PUBLISH_MAX_IN_FLIGHT_BYTES');
        else this.#send(entry);
        return;
      case 'hold':
        this.#inFlight.push(entry);
        if (this.#inFlight.bytes > this.#options.maxInFlightBytes) this.#emit('overflowed');
        return;
      case 'spool':
        return this.#toSpool(entry);
      case 'refuse':
        return this.#complete(entry, false);
    }
  }

  #send(entry: Entry): void {
    const generation = this.#generation;
    try {
      this.#producer?.send(entry.record, (error) => {
        if (!error) {
          this.counters.acknowledged++;
          this.#options.onAcknowledged?.(now() - entry.since);
          this.#complete(entry, true);
        } else if (generation === this.#generation) this.#fail(error.message);
      });
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }

  #toSpool(entry: Entry): void {
    this.#options.spool.append(entry.record, (error) => {
      if (error) this.counters.refused++;
      else this.counters.spooled++;
      this.#complete(entry, error === undefined);
    });
  }

  /** Only the first result of an entry counts; it may come from an earlier producer. */
  #complete(entry: Entry, isDurable: boolean): void {
    if (entry.isComplete) return;
    entry.isComplete = true;
    if (entry.isHeld) this.#inFlight.remove(entry);
    const { waiter } = entry;
    if (!isDurable) waiter.refused.push(entry.record);
    if (--waiter.left === 0) waiter.resolve(waiter.refused);
  }

  #fail(reason: string): void {
    const before = this.#state.phase;
    this.#emit('failed');
    if (this.phase === before) return;
    this.counters.failures++;
    this.#options.log.warn(
      { code: 'publish_failed', phase: before, in_spool: this.#options.spool.records },
      `records go to the spool: ${reason}`,
    );
  }

  #emit(fact: Fact): void {
    const before = this.#state.phase;
    const { state, actions } = evolve(this.#state, fact);
    this.#state = state;
    this.#route = routeOf(state);
    for (const action of actions) this.#do[action]();
    if (before !== 'direct' && this.phase === 'direct')
      this.#options.log.info('records go straight to Kafka');
  }

  readonly #do: Record<Action, () => void> = {
    connect: () => this.#connect(),
    drain: () => this.#drain(),
    drop_producer: () => {
      this.#generation++;
      const old = this.#producer;
      this.#producer = undefined;
      old
        ?.close(200)
        .catch((error: unknown) =>
          this.#options.log.warn({ err: error }, 'a failed producer could not be closed'),
        );
    },
    spool_held: () => {
      for (const entry of this.#inFlight.removeAll()) this.#toSpool(entry);
    },
    send_held: () => {
      for (const entry of this.#inFlight.incomplete())
        if (this.#state.phase === 'direct') this.#send(entry);
    },
    retry_later: () => {
      const failures = 'failures' in this.#state ? this.#state.failures : 1;
      const ms = backoffDelay({
        ...(this.#options.retry ?? RETRY),
        attempt: failures - 1,
        random: 0.5 + Math.random() / 2,
      });
      this.#retryTimer = setTimeout(() => this.#emit('retry_due'), ms);
    },
  };

  #connect(): void {
    const generation = ++this.#generation;
    this.#options.connect().then(
      ({ producer, partitions }) => {
        if (generation !== this.#generation) return void producer.close(0);
        this.#producer = producer;
        this.#partitions = partitions;
        this.#options.onPartitions?.(partitions);
        this.#emit('connected');
      },
      (error: unknown) => {
        if (generation !== this.#generation) return;
        const failures = 'failures' in this.#state ? this.#state.failures : 0;
        if (failures === 0)
          this.#options.log.warn(
            { err: error, code: 'kafka_unreachable' },
            'Kafka is unreachable: events go into the spool; connecting again with backoff',
          );
        this.#emit('connect_failed');
      },
    );
  }

  #drain(): void {
    const generation = this.#generation;
    const producer = this.#producer;
    if (!producer) return;
    const isCurrent = () => generation === this.#generation;
    drainSpool({
      spool: this.#options.spool,
      producer,
      partitionsOf: (topic) => this.#partitions.get(topic),
      timeout: DRAIN_TIMEOUT_FACTOR * this.#options.timeout,
      isOneByOne: this.#isOneByOne,
      isCurrent,
      report: (fact) => {
        if (isCurrent()) this.#emit(fact);
      },
      onQuarantined: (frame, reason) => {
        this.counters.setAside++;
        this.#options.log.error(
          { code: 'spooled_record_refused', segment: frame.segment.number, position: frame.start },
          `a spooled record was moved to the quarantine folder: ${reason}`,
        );
      },
    }).then(
      () => {
        if (isCurrent()) this.#isOneByOne = false;
      },
      (error: unknown) => {
        if (!isCurrent()) return;
        this.#isOneByOne = error instanceof RecordRefused;
        this.#fail(messageOf(error));
      },
    );
  }

  #checkOldest(): void {
    const oldest = this.#inFlight.oldest;
    if (oldest && now() - oldest.since > this.#options.timeout)
      this.#fail(`nothing was acknowledged for ${this.#options.timeout} ms`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
