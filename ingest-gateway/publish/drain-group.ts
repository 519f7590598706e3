import type { LogRecord } from '../../ingest/log-record.ts';
import { PublishFailed } from '../../platform/kafka/producer.ts';
import type { SpooledFrame } from '../spool/read-cursor.ts';
import type { TopicPartition } from '../spool/spool.ts';
import type { DrainOptions } from './drain-options.ts';

/** A spooled record with the partition that it goes to. */
export interface SpooledItem {
  frame: SpooledFrame;
  record: LogRecord;
}

/** Kafka's MESSAGE_TOO_LARGE: no later attempt can succeed. */
export const TOO_LARGE = 10;
/**
 * A group may be silent for this many times the timeout of a request's records: no client waits for
 * it, and a shorter time would send a slow Kafka the same group for ever.
 */
const SILENCE_FACTOR = 10;

/** Kafka refuses a record of the group, and always will; the producer is unusable. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
}

type GroupOptions = Pick<
  DrainOptions,
  | 'producer'
  | 'timeout'
  | 'clock'
  | 'isIsolating'
  | 'isCurrent'
  | 'sideOf'
  | 'onSilent'
  | 'onPartitionFailed'
>;

/**
 * Publishes a group of spooled records, or moves them to the side of their partition. Resolves with
 * the frames that Kafka refuses when all others are durable; rejects with the first failure. Sends
 * nothing after a refused record unless it isolates: order must hold.
 */
export function publishGroup(
  items: readonly SpooledItem[],
  options: GroupOptions,
): Promise<ReadonlySet<SpooledFrame>> {
  return new Promise((resolve, reject) => new Group({ items, options, resolve, reject }).start());
}

class Group {
  readonly #options: GroupOptions;
  readonly #items: readonly SpooledItem[];
  readonly #resolve: (refused: ReadonlySet<SpooledFrame>) => void;
  readonly #reject: (error: Error) => void;
  readonly #refused = new Set<SpooledFrame>();
  /** Items that Kafka has not answered, in order. */
  readonly #sent = new Set<SpooledItem>();
  /** Items of each partition that are sent one after the other. */
  readonly #queued = new Map<string, SpooledItem[]>();
  #left: number;
  #isAnyAlive = false;
  #lastProgress: number;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(of: {
    items: readonly SpooledItem[];
    options: GroupOptions;
    resolve: (refused: ReadonlySet<SpooledFrame>) => void;
    reject: (error: Error) => void;
  }) {
    this.#items = of.items;
    this.#options = of.options;
    this.#resolve = of.resolve;
    this.#reject = of.reject;
    this.#left = of.items.length;
    this.#lastProgress = of.options.clock();
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), Math.max(10, this.#options.timeout / 10));
    for (const item of this.#items) {
      if (this.#isOver) return;
      const side = this.#options.sideOf(item.record);
      if (side) side.move(item.record, (error) => this.#moved(error));
      else if (this.#options.isIsolating) this.#enqueue(item);
      else this.#send(item);
    }
  }

  #enqueue(item: SpooledItem): void {
    const name = nameOf(item.record);
    const queued = this.#queued.get(name);
    if (queued) return void queued.push(item);
    this.#queued.set(name, []);
    this.#send(item);
  }

  #send(item: SpooledItem): void {
    this.#sent.add(item);
    try {
      this.#options.producer.send(item.record, (error) => this.#answered(item, error));
    } catch (error) {
      this.#answered(item, error as Error);
    }
  }

  #answered(item: SpooledItem, error: Error | undefined): void {
    // Of an item that was moved meanwhile, the answer is late.
    if (this.#isOver || !this.#sent.delete(item)) return;
    const code = error instanceof PublishFailed ? error.kafkaCode : undefined;
    if (error && code === TOO_LARGE && this.#options.isIsolating) this.#refused.add(item.frame);
    else if (error) {
      if (code === TOO_LARGE) return this.#fail(new RecordRefused(error.message, { cause: error }));
      // Positive codes are Kafka's answers; it may answer otherwise for other partitions.
      if (code !== undefined && code > 0) this.#options.onPartitionFailed(item.record);
      return this.#fail(error);
    } else this.#isAnyAlive = true;
    this.#lastProgress = this.#options.clock();
    const next = this.#queued.get(nameOf(item.record))?.shift();
    if (next) this.#send(next);
    this.#completeOne();
  }

  #moved(error: Error | undefined): void {
    if (this.#isOver) return;
    if (error) return this.#fail(error);
    this.#completeOne();
  }

  #completeOne(): void {
    if (--this.#left > 0) return;
    this.#end();
    this.#resolve(this.#refused);
  }

  #check(): void {
    const { clock, timeout, isCurrent } = this.#options;
    if (!isCurrent()) return this.#fail(new Error('another producer has replaced this one'));
    const silence = clock() - this.#lastProgress;
    if (silence <= timeout || this.#sent.size === 0) return;
    const isLast = silence > SILENCE_FACTOR * timeout;
    const silent = new Map([...this.#sent].map(({ record }) => [nameOf(record), record]));
    const facts = { isAnyAlive: this.#isAnyAlive, isLast };
    if (this.#options.onSilent([...silent.values()], facts)) this.#moveSilent();
    else if (isLast)
      this.#fail(
        new Error(`no spooled record was acknowledged for ${SILENCE_FACTOR * timeout} ms`),
      );
  }

  /** Moves what was not acknowledged, in order, to the sides that the partitions have now. */
  #moveSilent(): void {
    const items = new Set([...this.#sent, ...[...this.#queued.values()].flat()]);
    this.#sent.clear();
    this.#queued.clear();
    for (const item of this.#items) {
      if (!items.has(item)) continue;
      const side = this.#options.sideOf(item.record);
      if (!side) return this.#fail(new Error('a silent partition has no queue of its own'));
      side.move(item.record, (error) => this.#moved(error));
    }
  }

  #fail(error: Error): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}
