import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { RangeGone, type LogRange, type RecordPosition } from '../../platform/kafka/read-range.ts';

interface Batches {
  batches(range: LogRange, signal: AbortSignal): AsyncGenerator<ConsumedMessage[], void, void>;
}

/**
 * Further ahead than so many records a new range is opened: that costs about as much as reading so
 * many records.
 */
const MAX_SKIPPED = 2000;
/** A range that is read once, without an end that is known. */
const TO_THE_END = Number.MAX_SAFE_INTEGER;

/**
 * Reads records at given offsets, most of them ascending, from few ranges instead of seeking each
 * one. Keeps the batch that it read last, so that neighbours in any order cost nothing. One read at
 * a time.
 */
export class RecordCursor {
  readonly #reader: Batches;
  readonly #signal: AbortSignal;
  #open:
    | { topic: string; partition: number; batches: AsyncGenerator<ConsumedMessage[], void, void> }
    | undefined;
  #batch: ConsumedMessage[] = [];
  /** First retained offset, by topic and partition, where something was missing. */
  readonly #begins = new Map<string, number>();

  constructor(reader: Batches, signal: AbortSignal) {
    this.#reader = reader;
    this.#signal = signal;
  }

  /** The record at a position; undefined: it is no longer retained. */
  async read(position: RecordPosition): Promise<ConsumedMessage | undefined> {
    const { topic, partition, offset } = position;
    if (offset < (this.#begins.get(`${topic}/${partition}`) ?? 0)) return undefined;
    const isOpen = this.#open?.topic === topic && this.#open.partition === partition;
    const [first, last] = [this.#batch[0]?.offset ?? 0, this.#batch.at(-1)?.offset ?? -1];
    if (!isOpen || offset < first || offset > last + MAX_SKIPPED) await this.#seek(position);
    try {
      return await this.#advanceTo(offset);
    } catch (error) {
      if (error instanceof RangeGone) {
        this.#begins.set(`${topic}/${partition}`, error.firstKept);
        await this.close();
        return undefined;
      }
      // The client may have waited so long for its caller that it counts as silent: once more.
      await this.#seek(position);
      return await this.#advanceTo(offset);
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    this.#batch = [];
    await open?.batches.return().catch(() => undefined);
  }

  async #seek({ topic, partition, offset: from }: RecordPosition): Promise<void> {
    await this.close();
    const range = { topic, partition, from, to: TO_THE_END };
    this.#open = { topic, partition, batches: this.#reader.batches(range, this.#signal) };
  }

  async #advanceTo(offset: number): Promise<ConsumedMessage | undefined> {
    while ((this.#batch.at(-1)?.offset ?? -1) < offset) {
      const next = await this.#open?.batches.next();
      if (!next || next.done === true) return undefined;
      this.#batch = next.value;
    }
    return this.#batch.find((record) => record.offset === offset);
  }
}
