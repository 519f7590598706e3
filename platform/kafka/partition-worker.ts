import { carriedFingerprint, hasUnknownSchema, isUnknownSchema } from '../../schemas/codec.ts';
import { DeadlineExceeded, withDeadline } from '../deadline.ts';
import type { Log } from '../log.ts';
import type { BatchLimits, ConsumedMessage, PartitionTask, ValuesUntil } from './consumer-types.ts';
import { freeValues } from './free-values.ts';
import { PartitionBuffer } from './partition-buffer.ts';

export interface BatchReport {
  records: number;
  bytes: number;

  durationMs: number;
}

/** Where a partition waits for a release that knows the schema of its next record. */
export interface UnknownSchemaAt {
  offset: number;
  /** Why the record cannot be read; no data of it. */
  detail: string;
}

interface WorkerOptions {
  partition: number;
  log: Log;
  limits: BatchLimits | (() => BatchLimits);
  valuesUntil?: ValuesUntil | undefined;
  /** Creates the task and fetches. A rejection crashes the process unless fenced. */
  open(fenced: AbortSignal): Promise<PartitionTask>;
  pause(): void;
  resume(): void;
  commit(offset: number): void;
  /** What the task gets of a record. */
  read?: ((message: ConsumedMessage) => ConsumedMessage) | undefined;
  /** Called with the last record of each batch before it is processed. */
  beforeBatch?(last: ConsumedMessage): Promise<void> | undefined;
  onProcessed(report: BatchReport): void;
  /** It is released although a batch has not ended, which will be processed again. */
  onInterrupted?(): void;
  /** Records were deleted from the topic before they were processed. */
  onMissed?(records: number): void;
  crash(error: unknown): void;
}

/** How long a task may still run after it was fenced, ms. */
const STOP_AFTER_FENCE = 2000;

/** One partition until its release: batches in turn, bounded, no commit after the fence. */
export class PartitionWorker {
  readonly partition: number;
  readonly #options: WorkerOptions;
  readonly #buffer: PartitionBuffer;
  readonly #fence = new AbortController();
  readonly #done: Promise<void>;
  #task: PartitionTask | undefined;
  #drained: Promise<void> | undefined;
  #stopping = false;
  #paused = false;
  #wake: (() => void) | undefined;
  #firstInProgress: ConsumedMessage | undefined;
  #unknownSchema: UnknownSchemaAt | undefined;
  /** The last committed offset, as far as this process knows. */
  position: number | undefined;
  /** The offset after the last fetched record. */
  seen: number | undefined;

  constructor(options: WorkerOptions) {
    this.partition = options.partition;
    this.#options = options;
    this.#buffer = new PartitionBuffer(options.limits);
    this.#done = this.#run().catch((error: unknown) => {
      if (!this.#fence.signal.aborted) options.crash(error);
    });
  }

  /** Enough is fetched: nothing arrives until a batch has been processed. */
  get isPaused(): boolean {
    return this.#paused;
  }

  /** LogAppendTime of the oldest record that is not committed yet, ms since the epoch. */
  get oldest(): number | undefined {
    return (this.#firstInProgress ?? this.#buffer.oldest)?.timestamp;
  }

  /** Until its end the process cannot read on: what it knows does not change. */
  get unknownSchema(): UnknownSchemaAt | undefined {
    return this.#unknownSchema;
  }

  push(message: ConsumedMessage, now: number): void {
    if (this.#stopping || !this.#buffer.push(message, now)) return;
    if (this.seen === undefined) this.#beginAt(message.offset);
    this.seen = message.offset + 1;
    if (!this.#paused && this.#buffer.isFull) {
      this.#paused = true;
      this.#options.pause();
    }
    this.#wake?.();
  }

  /** Waits at most `ms` for the batch, then fences and releases. Never rejects. */
  drain(ms: number): Promise<void> {
    this.#drained ??= this.#drain(ms);
    return this.#drained;
  }

  async #drain(ms: number): Promise<void> {
    const { log, partition } = this.#options;
    this.#stopping = true;
    this.#wake?.();
    const ended = this.#task ? await within(ms, this.#completed(this.#task)) : false;
    if (!ended && this.#firstInProgress && !this.#unknownSchema) this.#options.onInterrupted?.();
    this.#fence.abort(new Error(`partition ${partition} was revoked`));
    if (!ended && !(await within(STOP_AFTER_FENCE, this.#done))) {
      log.warn(
        { code: 'take_not_ended', partition },
        'the partition is released while a batch is still being processed; its result is not committed',
      );
    }
    try {
      await this.#task?.release();
    } catch (error) {
      log.warn({ err: error, partition }, 'releasing the task failed');
    }
  }

  async #completed(task: PartitionTask): Promise<void> {
    await this.#done;
    // A failure has been reported through commitsLater.
    await task.drain?.().catch(() => undefined);
  }

  /**
   * The topic begins at `low`, and the records before `next` were processed. What is missing is
   * reported now: on an idle topic, the next record may come late.
   */
  skipTo(low: number, next: number): void {
    this.position = low;
    if (next < low) this.#report(next, low);
  }

  #beginAt(offset: number): void {
    const expected = this.position;
    this.position = offset;
    if (expected !== undefined && offset > expected) this.#report(expected, offset);
  }

  #report(expected: number, offset: number): void {
    const { log, partition } = this.#options;
    this.#options.onMissed?.(offset - expected);
    const missing = { code: 'log_start_moved', partition, from: expected, to: offset - 1 };
    log.error(
      missing,
      'unprocessed records are no longer in the topic: its retention is shorter than this consumer lagged behind',
    );
  }

  async #run(): Promise<void> {
    const task = await this.#options.open(this.#fence.signal);
    this.#task = task;
    const commit = (offset: number) => this.#commit(offset);
    const failed = (error: unknown) => {
      if (!this.#fence.signal.aborted) this.#options.crash(error);
    };
    task.commitsLater?.({ commit, failed });
    while (!this.#stopping) {
      const wait = this.#buffer.dueIn(performance.now());
      if (this.#unknownSchema) await this.#sleep(undefined);
      else if (wait === undefined || wait > 0) await this.#sleep(wait);
      else await this.#processBatch(task);
    }
  }

  async #processBatch(task: PartitionTask): Promise<void> {
    const startedAt = performance.now();
    const messages = this.#buffer.nextBatch(startedAt);
    this.#firstInProgress = messages[0];
    if (this.#paused && this.#buffer.hasRoom) {
      this.#paused = false;
      this.#options.resume();
    }
    const unknown = messages.findIndex(({ value }) => hasUnknownSchema(value));
    const readable = unknown < 0 ? messages : messages.slice(0, unknown);
    if (readable.length > 0) await this.#processReadable(task, readable);
    if (this.#unknownSchema) return;
    this.#firstInProgress = undefined;
    const first = messages[unknown];
    if (first?.value) this.#waitAt(first, `no schema ${carriedFingerprint(first.value)}`);
  }

  async #processReadable(task: PartitionTask, messages: readonly ConsumedMessage[]): Promise<void> {
    const startedAt = performance.now();
    let next: number | undefined;
    const last = messages.at(-1);
    const stored = last && this.#options.beforeBatch?.(last);
    if (stored) {
      await stored;
      if (this.#fence.signal.aborted) return;
    }
    try {
      const { read } = this.#options;
      next = await task.process(read ? messages.map(read) : messages);
    } catch (error) {
      // A record within a record, for instance the row batch of a dead letter.
      const [first] = messages;
      if (!isUnknownSchema(error) || !first) throw error;
      this.#waitAt(first, error.message);
      return;
    }
    this.#freeValues(messages, next);
    if (this.#fence.signal.aborted) return;
    if (next !== undefined) this.#commit(next);
    const bytes = messages.reduce((sum, { size }) => sum + size, 0);
    this.#options.onProcessed({
      records: messages.length,
      bytes,
      durationMs: performance.now() - startedAt,
    });
  }

  #freeValues(messages: readonly ConsumedMessage[], next = 0): void {
    const { valuesUntil } = this.#options;
    if (valuesUntil === undefined) return;
    freeValues(
      valuesUntil === 'processed' ? messages : messages.filter(({ offset }) => offset < next),
    );
  }

  #waitAt(message: ConsumedMessage, detail: string): void {
    const { topic, partition, offset } = message;
    this.#firstInProgress = message;
    this.#unknownSchema = { offset, detail };
    this.#options.log.error(
      { code: 'unknown_schema', topic, partition, offset },
      'a newer release wrote a record: the partition waits, nothing is skipped; upgrade this service',
    );
  }

  #commit(next: number): void {
    if (this.#fence.signal.aborted) return;
    this.position = next;
    this.#options.commit(next);
  }

  async #sleep(ms: number | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, Math.ceil(ms));
    });
    clearTimeout(timer);
    this.#wake = undefined;
  }
}

async function within(ms: number, work: Promise<void>): Promise<boolean> {
  try {
    await withDeadline({ ms, waitingFor: 'a batch' }, work);
    return true;
  } catch (error) {
    if (error instanceof DeadlineExceeded) return false;
    throw error;
  }
}
