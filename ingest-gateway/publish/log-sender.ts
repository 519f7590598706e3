import type { BufferPool } from '../../platform/buffer-pool.ts';
import { BATCH_BYTES, PublishFailed, type OutgoingRecord } from '../../platform/kafka/producer.ts';
import { writeRawBatch } from '../../schemas/raw-batch.ts';
import type { ActiveClock } from './active-clock.ts';
import type { Completions } from './completions.ts';
import { TOO_LARGE } from './drain-group.ts';
import type { DrainedQueue } from './drained-queue.ts';
import type { Entry, Flow } from './in-flight.ts';
import type { KnownTopics } from './known-topics.ts';
import { RawBatchBuffer, type Batch, type RawBatchBufferOptions } from './raw-batch-buffer.ts';

interface LogSenderOptions {
  main: DrainedQueue;
  completions: Completions;
  topics: Pick<KnownTopics, 'learnRefusal'>;
  clock: ActiveClock;
  /** Kafka refuses records of the partition for a reason of its own. */
  onPartitionFailed: (flow: Flow) => void;
  onAcknowledged: ((milliseconds: number) => void) | undefined;
  /** Of the values of records, and of batches. */
  buffers: BufferPool;
  /** Absent: every record is sent alone. */
  batches: Omit<RawBatchBufferOptions, 'send'> | undefined;
}

/** Sends records to Kafka, alone or in batches, and acts on its answers. */
export class LogSender {
  readonly #options: LogSenderOptions;
  readonly #batches: RawBatchBuffer | undefined;

  constructor(options: LogSenderOptions) {
    this.#options = options;
    const { batches } = options;
    this.#batches =
      batches && new RawBatchBuffer({ ...batches, send: (batch) => this.#sendBatch(batch) });
  }

  /** @param flow that of the entry */
  send(entry: Entry, flow: Flow): void {
    const { clock } = this.#options;
    const { producer } = this.#options.main;
    entry.sentAt = performance.now();
    entry.activeSince = clock.value;
    entry.sends++;
    // Without one the entry stays in flight until the publisher notices the silence.
    if (!producer || this.#batches?.take(entry, flow, producer)) return;
    this.#sendAs(entry.record, { entries: [entry], flow, producer });
  }

  #sendBatch({ entries, flow, producer }: Batch): void {
    const [first] = entries;
    if (!first || producer !== this.#options.main.producer) return;
    const { record } = first;
    if (entries.length === 1) return this.#sendAs(record, { entries, flow, producer });
    const { buffers } = this.#options;
    const value = writeRawBatch({
      records: entries.map(({ record: { events: items, value } }) => ({ items, value })),
      firstIndex: 0,
      allocate: (bytes) => buffers.take(bytes),
    });
    this.#sendAs({ ...record, value }, { entries, flow, producer });
  }

  #sendAs(
    record: OutgoingRecord,
    { entries, flow, producer }: Pick<Batch, 'entries' | 'flow' | 'producer'>,
  ): void {
    const { clock, completions, onAcknowledged, buffers } = this.#options;
    try {
      producer.send(record, (error) => {
        if (error) return this.#failed({ entries, flow, error });
        const now = performance.now();
        for (const entry of entries) {
          onAcknowledged?.(now - entry.sentAt);
          if (entry.flow === flow) flow.lastAcknowledged = clock.value;
          const isRead = isReadElsewhere(entry, flow);
          completions.acknowledge(entry);
          if (!isRead) buffers.release(entry.record.value);
        }
        // That of a batch: the client has its own copy, and made its only report.
        if (entries[0]?.record !== record) buffers.release(record.value);
      });
    } catch (error) {
      this.#failed({ entries, flow, error });
    }
  }

  /** Late reports of records that were spooled meanwhile do not matter. */
  #failed({ entries, flow, error }: Pick<Batch, 'entries' | 'flow'> & { error: unknown }): void {
    const entry = entries.find((one) => one.flow === flow);
    if (!entry) return;
    const { main, completions, topics, onPartitionFailed } = this.#options;
    const code = error instanceof PublishFailed ? error.kafkaCode : undefined;
    const reason = error instanceof Error ? error.message : String(error);
    // Of a batch, it is not known which; the spool sends its records one by one.
    if (code === TOO_LARGE && entries.length === 1) {
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
    if (code !== undefined && code > 0 && code !== TOO_LARGE) onPartitionFailed(flow);
    main.fail(reason);
  }
}

/**
 * Whether somebody may still read the value of an entry whose record was acknowledged. Nobody does
 * when it was sent once and to nobody else: the client copies a value when it takes it, and a
 * request does not read those of its records again. What was spooled meanwhile has left the flow,
 * and what was sent twice may wait for an earlier producer.
 */
function isReadElsewhere({ flow, sends, isComplete }: Entry, sentIn: Flow): boolean {
  return isComplete || flow !== sentIn || sends !== 1;
}
