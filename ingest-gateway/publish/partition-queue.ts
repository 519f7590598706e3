import type { LogRecord } from '../../ingest/log-record.ts';
import type { AppendLimits, SpoolRefused } from '../spool/append-queue.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { TopicPartition } from '../spool/spool.ts';
import type { Entry, SideQueue } from './in-flight.ts';
import type { DrainBlocked } from './drain-options.ts';
import { DrainedQueue, type DrainContext } from './drained-queue.ts';

interface PartitionQueueOptions extends TopicPartition {
  queue: SpoolQueue;
  context: DrainContext;
  /** Appends to the queue and completes the entry. */
  append: (entry: Entry, to: { queue: SpoolQueue; limits: AppendLimits }) => void;
  refuse: (entry: Entry) => void;
  /** Everything was acknowledged: the partition can be written, and these records are next. */
  onDrained: (held: readonly Entry[]) => void;
}

/** Records in memory while the last ones of the queue are in flight, bytes. */
const HOLD_BYTES = 4 * 1024 * 1024;

/**
 * The records of a partition that cannot be written while others can: a queue on disk and a
 * producer of its own, which tries with backoff. Once everything is acknowledged the partition
 * goes back to the publisher, and this queue is over.
 */
export class PartitionQueue implements SideQueue {
  readonly #options: PartitionQueueOptions;
  readonly #drained: DrainedQueue;
  #held: Entry[] = [];
  #heldBytes = 0;

  constructor(options: PartitionQueueOptions) {
    const { queue, context, topic, partition } = options;
    this.#options = options;
    this.#drained = new DrainedQueue({
      queue,
      context,
      name: `${topic}-${partition}`,
      sideOf: () => undefined,
      onSilent: () => false,
      onPartitionFailed: () => undefined,
      spoolHeld: () => {
        for (const entry of this.#takeHeld()) options.append(entry, { queue, limits: 'disk' });
      },
      sendHeld: () => {
        const held = this.#takeHeld();
        this.#drained.close();
        options.onDrained(held);
      },
    });
    this.#drained.start();
  }

  get blocked(): DrainBlocked | undefined {
    return this.#drained.blocked;
  }

  accept(entry: Entry, limits: AppendLimits): void {
    const { queue, append, refuse } = this.#options;
    if (this.#drained.route === 'refuse') return refuse(entry);
    if (this.#drained.route === 'spool') return append(entry, { queue, limits });
    this.#held.push(entry);
    this.#heldBytes += entry.record.value.length;
    if (this.#heldBytes > HOLD_BYTES) this.#drained.emit('overflowed');
  }

  /** A record of the main queue, which frees its bytes there: before anything new. */
  move(record: LogRecord, done: (error: SpoolRefused | undefined) => void): void {
    // Held records are older.
    this.spoolHeld();
    this.#options.queue.append(record, done, 'none');
  }

  spoolHeld(): void {
    if (this.#drained.route === 'hold') this.#drained.emit('overflowed');
  }

  /** Spools what is held. */
  close(): void {
    this.#drained.close();
  }

  #takeHeld(): Entry[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }
}
