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
} from './evolve.ts';
import { InFlight, type Entry, type Waiter } from './in-flight.ts';

export interface PublisherOptions {
  spool: Spool;
  /**
   * Makes a new producer; rejects when the log cannot be reached. `partitions` are those of the
   * topics that it publishes to.
   */
  connect: () => Promise<{ producer: LogProducer; partitions: ReadonlyMap<string, number> }>;
  log: Log;
  /** A record without an acknowledgement for this long is taken as failed, ms. */
  timeout: number;
  /** Bytes that may wait for the log; more than this and the spool takes over. */
  maxInFlightBytes: number;
  /** Pause before another attempt to reach the log, ms. */
  retry?: { base: number; cap: number };
  onPartitions?: (partitions: ReadonlyMap<string, number>) => void;
  onAcknowledged?: (milliseconds: number) => void;
}

/**
 * Nobody waits for a drained group: a slow log gets this many times the patience that a request
 * has, or it would be sent the same group for ever.
 */
const DRAIN_PATIENCE = 10;
const RETRY = { base: 100, cap: 5000 };
const NOTHING_REFUSED: readonly LogRecord[] = [];
const now = () => performance.now();

/**
 * Makes records durable, in the order in which they come: acknowledged by the log with acks=all, or
 * fsynced in the spool (DESIGN.md, promises 1 and 3). Whatever producer carries a record,
 * everything accepted before it was acknowledged earlier or is sent before it by the same producer:
 * the first occurrences in a partition are in order, and repeats behind them name the same
 * acceptance.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #inFlight = new InFlight();
  readonly #watch: NodeJS.Timeout;
  #state: PublisherState = initialState;
  #producer: LogProducer | undefined;
  #partitions: ReadonlyMap<string, number> = new Map();
  /** Rises with every producer: reports of earlier ones change nothing. */
  #generation = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #isCautious = false;
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
    this.#watch = setInterval(() => this.#watchOldest(), Math.max(20, options.timeout / 10));
    this.#watch.unref();
    this.#connect();
  }

  get phase(): Phase {
    return this.#state.phase;
  }

  get inFlight(): { records: number; bytes: number } {
    return this.#inFlight;
  }

  /**
   * Resolves when every record is durable or refused, with the refused ones: they may be in the log
   * or not, and can only be answered 503. Never rejects.
   */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    return new Promise((resolve) => {
      const waiter: Waiter = { left: records.length, refused: [], resolve };
      if (records.length === 0) resolve(NOTHING_REFUSED);
      const since = now();
      for (const record of records)
        this.#accept({ record, waiter, since, settled: false, isHeld: false });
    });
  }

  /**
   * Waits for what is in flight, at most `ms`; what has no acknowledgement then goes into the
   * spool. The spool stays open.
   */
  async close(ms: number): Promise<void> {
    const until = now() + ms;
    while (this.#inFlight.records > 0 && now() < until && this.#state.phase === 'direct')
      await new Promise((resolve) => setTimeout(resolve, 10));
    clearInterval(this.#watch);
    clearTimeout(this.#retryTimer);
    this.#tell('closing');
  }

  #accept(entry: Entry): void {
    switch (routeOf(this.#state)) {
      case 'log':
        this.#inFlight.push(entry);
        if (this.#inFlight.bytes > this.#options.maxInFlightBytes)
          this.#fail('more is in flight than PUBLISH_MAX_IN_FLIGHT_BYTES');
        else this.#send(entry);
        return;
      case 'hold':
        this.#inFlight.push(entry);
        if (this.#inFlight.bytes > this.#options.maxInFlightBytes) this.#tell('overflowed');
        return;
      case 'spool':
        return this.#toSpool(entry);
      case 'refuse':
        return this.#settle(entry, false);
    }
  }

  #send(entry: Entry): void {
    const generation = this.#generation;
    try {
      this.#producer?.send(entry.record, (error) => {
        if (!error) {
          this.counters.acknowledged++;
          this.#options.onAcknowledged?.(now() - entry.since);
          this.#settle(entry, true);
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
      this.#settle(entry, error === undefined);
    });
  }

  /**
   * Takes the first answer for an entry: a late acknowledgement of an earlier producer is as good
   * as the spool's.
   */
  #settle(entry: Entry, isDurable: boolean): void {
    if (entry.settled) return;
    entry.settled = true;
    if (entry.isHeld) this.#inFlight.remove(entry);
    const { waiter } = entry;
    if (!isDurable) waiter.refused.push(entry.record);
    if (--waiter.left === 0) waiter.resolve(waiter.refused);
  }

  #fail(reason: string): void {
    const before = this.#state.phase;
    this.#tell('failed');
    if (this.phase === before) return;
    this.counters.failures++;
    this.#options.log.warn(
      { code: 'publish_failed', phase: before, in_spool: this.#options.spool.records },
      `publishing goes through the spool: ${reason}`,
    );
  }

  #tell(fact: Fact): void {
    const before = this.#state.phase;
    const { state, actions } = evolve(this.#state, fact);
    this.#state = state;
    for (const action of actions) this.#do[action]();
    if (before !== 'direct' && this.phase === 'direct')
      this.#options.log.info('publishing goes straight to the log');
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
          this.#options.log.warn({ err: error }, 'a failed producer did not close'),
        );
    },
    spool_held: () => {
      for (const entry of this.#inFlight.takeAll()) this.#toSpool(entry);
    },
    send_held: () => {
      for (const entry of this.#inFlight.unsettled())
        if (this.#state.phase === 'direct') this.#send(entry);
    },
    retry_later: () => {
      const failures = 'failures' in this.#state ? this.#state.failures : 1;
      const ms = backoffDelay({
        ...(this.#options.retry ?? RETRY),
        attempt: failures - 1,
        random: 0.5 + Math.random() / 2,
      });
      this.#retryTimer = setTimeout(() => this.#tell('retry_due'), ms);
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
        this.#tell('connected');
      },
      (error: unknown) => {
        if (generation !== this.#generation) return;
        const failures = 'failures' in this.#state ? this.#state.failures : 0;
        if (failures === 0)
          this.#options.log.warn(
            { err: error, code: 'kafka_unreachable' },
            'Kafka is not reachable: events go into the spool, trying again with backoff',
          );
        this.#tell('connect_failed');
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
      timeout: DRAIN_PATIENCE * this.#options.timeout,
      isCautious: this.#isCautious,
      isCurrent,
      report: (fact) => {
        if (isCurrent()) this.#tell(fact);
      },
      onSetAside: (frame, why) => {
        this.counters.setAside++;
        this.#options.log.error(
          { code: 'spooled_record_refused', segment: frame.segment.number, position: frame.start },
          `a spooled record is kept aside in the quarantine folder: ${why}`,
        );
      },
    }).then(
      () => {
        if (isCurrent()) this.#isCautious = false;
      },
      (error: unknown) => {
        if (!isCurrent()) return;
        this.#isCautious = error instanceof RecordRefused;
        this.#fail(messageOf(error));
      },
    );
  }

  #watchOldest(): void {
    const oldest = this.#inFlight.oldest;
    if (oldest && now() - oldest.since > this.#options.timeout)
      this.#fail(`nothing was acknowledged for ${this.#options.timeout} ms`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
