import { BATCH_BYTES, PublishFailed } from '../../platform/kafka/producer.ts';
import type { ActiveClock } from './active-clock.ts';
import type { Completions } from './completions.ts';
import { TOO_LARGE } from './drain-group.ts';
import type { DrainedQueue } from './drained-queue.ts';
import type { Entry, Flow } from './in-flight.ts';
import type { KnownTopics } from './known-topics.ts';

interface LogSenderOptions {
  main: DrainedQueue;
  completions: Completions;
  topics: Pick<KnownTopics, 'learnRefusal'>;
  clock: ActiveClock;
  /** Kafka refuses records of the partition for a reason of its own. */
  onPartitionFailed: (flow: Flow) => void;
  onAcknowledged: ((milliseconds: number) => void) | undefined;
}

/** Sends records to Kafka and acts on its answers. */
export class LogSender {
  readonly #options: LogSenderOptions;

  constructor(options: LogSenderOptions) {
    this.#options = options;
  }

  /** @param flow that of the entry */
  send(entry: Entry, flow: Flow): void {
    const { main, clock, completions, onAcknowledged } = this.#options;
    entry.sentAt = performance.now();
    entry.activeSince = clock.value;
    try {
      main.producer?.send(entry.record, (error) => {
        if (error) return this.#failed({ entry, flow, error });
        onAcknowledged?.(performance.now() - entry.sentAt);
        if (entry.flow === flow) flow.lastAcknowledged = clock.value;
        completions.acknowledge(entry);
      });
    } catch (error) {
      this.#failed({ entry, flow, error });
    }
  }

  /** Late reports of records that were spooled meanwhile do not matter. */
  #failed({ entry, flow, error }: { entry: Entry; flow: Flow; error: unknown }): void {
    if (entry.flow !== flow) return;
    const { main, completions, topics, onPartitionFailed } = this.#options;
    const code = error instanceof PublishFailed ? error.kafkaCode : undefined;
    const reason = error instanceof Error ? error.message : String(error);
    if (code === TOO_LARGE) {
      const { topic, value } = entry.record;
      if (value.length > BATCH_BYTES) topics.learnRefusal(topic, value.length);
      completions.refuseTooLarge(entry);
      // The producer is unusable. What it refuses with this record is reported first.
      const { producer } = main;
      setImmediate(() => {
        if (producer && producer === main.producer) main.fail(reason);
      });
      return;
    }
    // Positive codes are Kafka's answers; it may answer otherwise for other partitions.
    if (code !== undefined && code > 0) onPartitionFailed(flow);
    main.fail(reason);
  }
}
