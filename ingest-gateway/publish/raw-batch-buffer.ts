import type { LogProducer } from '../../platform/kafka/producer.ts';
import { ENTRY_OVERHEAD } from '../../schemas/raw-batch.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { Entry, Flow } from './in-flight.ts';

export interface RawBatchOptions {
  /** How long a raw record waits for others of its partition, ms. */
  linger: number;
  /** False while readers of this installation may not know batches. */
  isWritten: () => boolean;
}

/** Records that are sent as one, in order. */
export interface Batch {
  readonly flow: Flow;
  /** With which its first record was to be sent. */
  readonly producer: LogProducer;
  entries: Entry[];
  bytes: number;
}

/** A larger batch saves nothing more, and its records wait for each other. */
export const RAW_BATCH_BYTES = 128 * 1024;
/** A larger record has so many events that sending it alone costs each of them nothing. */
export const MAX_RECORD_BYTES = 16 * 1024;

export interface RawBatchBufferOptions extends RawBatchOptions {
  /** Bytes of the largest value that the topic accepts. */
  limitOf: (topic: string) => number;
  send: (batch: Batch) => void;
}

/**
 * Gathers the raw records of a partition for a short time: Kafka, its client and the normaliser do
 * for a raw batch what they would do for each of them. An entry that waits here is in flight
 * like one that was sent. Whoever takes it from there sends it elsewhere, and the batch is sent
 * without it; a batch of a producer that was replaced meanwhile is not sent at all.
 */
export class RawBatchBuffer {
  readonly #options: RawBatchBufferOptions;
  readonly #batches = new Map<Flow, Batch>();
  #isTimed = false;

  constructor(options: RawBatchBufferOptions) {
    this.#options = options;
  }

  /** False: the entry is to be sent now, and everything before it in its partition has been. */
  take(entry: Entry, flow: Flow, producer: LogProducer): boolean {
    const { topic, value, key, headers } = entry.record;
    let batch = this.#batches.get(flow);
    if (batch && batch.producer !== producer) {
      this.#batches.delete(flow);
      batch = undefined;
    }
    const bytes = value.length + ENTRY_OVERHEAD;
    const most = Math.min(RAW_BATCH_BYTES, this.#options.limitOf(topic));
    // Headers continue the trace of one request.
    const isAlone =
      topic !== TOPIC.raw ||
      key !== null ||
      headers !== undefined ||
      bytes > Math.min(most, MAX_RECORD_BYTES) ||
      !this.#options.isWritten();
    if (batch && (isAlone || batch.bytes + bytes > most)) {
      this.#send(batch);
      batch = undefined;
    }
    if (isAlone) return false;
    if (!batch) {
      batch = { flow, producer, entries: [], bytes: ENTRY_OVERHEAD };
      this.#batches.set(flow, batch);
      this.#begin();
    }
    if (entry.batch === batch) return true;
    entry.batch = batch;
    batch.entries.push(entry);
    batch.bytes += bytes;
    return true;
  }

  #begin(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    const { linger } = this.#options;
    if (linger > 0) setTimeout(() => this.#sendAll(), linger);
    else setImmediate(() => this.#sendAll());
  }

  #sendAll(): void {
    this.#isTimed = false;
    for (const batch of [...this.#batches.values()]) this.#send(batch);
  }

  #send(batch: Batch): void {
    this.#batches.delete(batch.flow);
    batch.entries = batch.entries.filter(
      (entry) => entry.batch === batch && entry.flow === batch.flow,
    );
    if (batch.entries.length > 0) this.#options.send(batch);
  }
}
