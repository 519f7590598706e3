import { backoffDelay } from '../../platform/backoff.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { ConnectLog } from './connect-log.ts';
import { drainSpool, Isolated } from './drain.ts';
import { DrainBlocked, type DrainOptions } from './drain-options.ts';
import { RecordRefused } from './drain-group.ts';
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
import type { KnownTopics } from './known-topics.ts';

/** What the queues of a publisher share. */
export interface DrainContext {
  connect: ConnectLog;
  topics: KnownTopics;
  log: Log;
  /** A partition without an acknowledgement for this long is silent, ms. */
  timeout: number;
  /** Ms in which acknowledgements could be noticed. */
  clock: () => number;
  /** Pause before another attempt to reach Kafka, ms. */
  retry: { base: number; cap: number };
  counters: { drained: number; failures: number; setAside: number };
}

interface DrainedQueueOptions extends Pick<
  DrainOptions,
  'sideOf' | 'onSilent' | 'onPartitionFailed'
> {
  queue: SpoolQueue;
  context: DrainContext;
  /** Names the queue in messages. */
  name: string;
  /** Appends to the queue what is held in memory or in flight. */
  spoolHeld: () => void;
  /** The queue is empty: everything in it is in Kafka. */
  sendHeld: () => void;
  onConnected?: () => void;
}

/**
 * A queue on disk, the producer that drains it, and the decision where new records go: the shell of
 * `evolve`. The owner holds the records that are in memory.
 */
export class DrainedQueue {
  readonly #options: DrainedQueueOptions;
  #state: PublisherState = initialState;
  /** That of the state; kept because every record reads it. */
  route: Route = routeOf(initialState);
  producer: LogProducer | undefined;
  /** Rises with every producer; an earlier one has no effect. */
  #generation = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  /** The last drain found a record that Kafka refuses; the next one isolates it. */
  #isIsolating = false;
  /** Why the queue cannot drain; undefined while it can. */
  blocked: DrainBlocked | undefined;

  constructor(options: DrainedQueueOptions) {
    this.#options = options;
  }

  /** Makes the first attempt to reach Kafka. */
  start(): void {
    this.#connect();
  }

  get phase(): Phase {
    return this.#state.phase;
  }

  fail(reason: string): void {
    const before = this.#state.phase;
    const { context, queue, name } = this.#options;
    this.emit('failed');
    if (this.phase === before) return;
    context.counters.failures++;
    context.log.warn(
      { code: 'publish_failed', phase: before, in_spool: queue.records, queue: name },
      `records go to the spool: ${reason}`,
    );
  }

  emit(fact: Fact): void {
    const { state, actions } = evolve(this.#state, fact);
    this.#state = state;
    this.route = routeOf(state);
    if (fact === 'progressed' || fact === 'drained') this.blocked = undefined;
    for (const action of actions) this.#do[action]();
  }

  close(): void {
    clearTimeout(this.#retryTimer);
    this.emit('closing');
  }

  readonly #do: Record<Action, () => void> = {
    connect: () => this.#connect(),
    drain: () => this.#drain(),
    drop_producer: () => {
      this.#generation++;
      const old = this.producer;
      this.producer = undefined;
      const { log } = this.#options.context;
      old
        ?.close(200)
        .catch((error: unknown) =>
          log.warn({ err: error }, 'a failed producer could not be closed'),
        );
    },
    spool_held: () => this.#options.spoolHeld(),
    send_held: () => this.#options.sendHeld(),
    retry_later: () => {
      const failures = 'failures' in this.#state ? this.#state.failures : 1;
      const ms = backoffDelay({
        ...this.#options.context.retry,
        attempt: failures - 1,
        random: 0.5 + Math.random() / 2,
      });
      this.#retryTimer = setTimeout(() => this.emit('retry_due'), ms);
    },
  };

  #connect(): void {
    const generation = ++this.#generation;
    const { context, name } = this.#options;
    context.connect({ isIsolating: this.#isIsolating }).then(
      (connection) => {
        if (generation !== this.#generation) return void connection.producer.close(0);
        this.producer = connection.producer;
        context.topics.learn(connection);
        this.#options.onConnected?.();
        this.emit('connected');
      },
      (error: unknown) => {
        if (generation !== this.#generation) return;
        const failures = 'failures' in this.#state ? this.#state.failures : 0;
        if (failures === 0)
          context.log.warn(
            { err: error, code: 'kafka_unreachable', queue: name },
            'Kafka is unreachable: events go into the spool; connecting again with backoff',
          );
        this.emit('connect_failed');
      },
    );
  }

  #drain(): void {
    const generation = this.#generation;
    const { producer } = this;
    if (!producer) return;
    const { context } = this.#options;
    const isCurrent = () => generation === this.#generation;
    drainSpool({
      ...this.#options,
      ...context,
      producer,
      isIsolating: this.#isIsolating,
      isCurrent,
      report: (fact) => {
        if (isCurrent()) this.emit(fact);
      },
      onSetAside: (frame, reason) => {
        context.counters.setAside++;
        context.log.error(
          { code: 'spooled_record_refused', segment: frame.segment.number, position: frame.start },
          `a spooled record was moved to the quarantine folder: ${reason}. Raise max.message.bytes of the topic: the gateway then publishes it`,
        );
      },
    }).catch((error: unknown) => {
      if (!isCurrent()) return;
      this.#isIsolating = error instanceof RecordRefused;
      if (error instanceof DrainBlocked) this.#block(error);
      if (error instanceof DrainBlocked || error instanceof Isolated) this.emit('failed');
      else this.fail(messageOf(error));
    });
  }

  #block(error: DrainBlocked): void {
    const isKnown = this.blocked?.reason === error.reason;
    this.blocked = error;
    if (isKnown) return;
    this.#options.context.log.error(
      { code: 'spool_drain_blocked', reason: error.reason, queue: this.#options.name },
      `the spool is not drained, and nothing in it is dropped: ${error.message}. It is tried again at most every ${this.#options.context.retry.cap} ms`,
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
