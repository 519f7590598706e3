import { DeadlineExceeded, withDeadline } from '../deadline.ts';
import type { Log } from '../log.ts';
import type { ConsumedMessage, PartitionTask } from './consumer.ts';
import { PartitionBuffer, type BatchLimits } from './partition-buffer.ts';

export interface TakeReport {
  records: number;
  bytes: number;
  /** How long the take took, ms. */
  took: number;
}

interface WorkerOptions {
  partition: number;
  log: Log;
  limits: BatchLimits;
  /**
   * Makes the task and begins to read. Rejects when that is not possible; a rejection after the
   * fence is not looked at.
   */
  open(fenced: AbortSignal): Promise<PartitionTask>;
  pause(): void;
  resume(): void;
  commit(offset: number): void;
  onTake(report: TakeReport): void;
  crash(error: unknown): void;
}

/** After the fence a task has this long to stop, ms. */
const STOP_AFTER_FENCE = 2000;

/**
 * The loop of one partition, from its assignment to its release: one take at a time, bounded
 * waiting messages, no commit after the fence.
 */
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
  #taking: ConsumedMessage | undefined;
  /** The offset that was committed last, as far as this process knows. */
  position: number | undefined;
  /** The next offset of the log that this process has not seen. */
  seen: number | undefined;

  constructor(options: WorkerOptions) {
    this.partition = options.partition;
    this.#options = options;
    this.#buffer = new PartitionBuffer(options.limits);
    this.#done = this.#run().catch((error: unknown) => {
      if (!this.#fence.signal.aborted) options.crash(error);
    });
  }

  /** When the log took the oldest record that is not committed yet, ms since the epoch. */
  get oldest(): number | undefined {
    return (this.#taking ?? this.#buffer.oldest)?.timestamp;
  }

  push(message: ConsumedMessage, now: number): void {
    if (this.#stopping || !this.#buffer.push(message, now)) return;
    if (this.seen === undefined) this.#beginAt(message.offset);
    this.seen = message.offset + 1;
    if (!this.#paused && this.#buffer.full) {
      this.#paused = true;
      this.#options.pause();
    }
    this.#wake?.();
  }

  /**
   * Lets a running take end, at most `ms`; then the partition is fenced and released. Never
   * rejects; later calls wait for the first.
   */
  drain(ms: number): Promise<void> {
    this.#drained ??= this.#drain(ms);
    return this.#drained;
  }

  async #drain(ms: number): Promise<void> {
    const { log, partition } = this.#options;
    this.#stopping = true;
    this.#wake?.();
    const ended = this.#task ? await within(ms, this.#done) : false;
    this.#fence.abort(new Error(`partition ${partition} was taken away`));
    if (!ended && !(await within(STOP_AFTER_FENCE, this.#done))) {
      log.warn(
        { code: 'take_not_ended', partition },
        'the partition leaves while a take still runs; its result is not committed',
      );
    }
    try {
      await this.#task?.release();
    } catch (error) {
      log.warn({ err: error, partition }, 'the task could not be released cleanly');
    }
  }

  #beginAt(offset: number): void {
    const { log, partition } = this.#options;
    const expected = this.position;
    this.position = offset;
    if (expected === undefined || offset <= expected) return;
    const missing = { code: 'log_start_moved', partition, from: expected, to: offset - 1 };
    log.error(
      missing,
      'records that were not taken yet are no longer in the log: its retention is shorter than the time that this part was behind',
    );
  }

  async #run(): Promise<void> {
    const task = await this.#options.open(this.#fence.signal);
    this.#task = task;
    while (!this.#stopping) {
      const wait = this.#buffer.dueIn(performance.now());
      if (wait === undefined || wait > 0) await this.#sleep(wait);
      else await this.#take(task);
    }
  }

  async #take(task: PartitionTask): Promise<void> {
    const began = performance.now();
    const messages = this.#buffer.take(began);
    this.#taking = messages[0];
    if (this.#paused && this.#buffer.hungry) {
      this.#paused = false;
      this.#options.resume();
    }
    const next = await task.take(messages);
    this.#taking = undefined;
    if (this.#fence.signal.aborted) return;
    if (next !== undefined) {
      this.position = next;
      this.#options.commit(next);
    }
    const bytes = messages.reduce((sum, { size }) => sum + size, 0);
    this.#options.onTake({ records: messages.length, bytes, took: performance.now() - began });
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
    await withDeadline({ ms, waitingFor: 'a take' }, work);
    return true;
  } catch (error) {
    if (error instanceof DeadlineExceeded) return false;
    throw error;
  }
}
