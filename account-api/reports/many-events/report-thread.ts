import { Worker } from 'node:worker_threads';
import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import type { Counted } from './counted.ts';
import type { EventMemory } from './event-memory.ts';
import type { Counting } from './many-events.ts';
import type { Ranks } from './order-statistics.ts';
import type { EventsToRead } from './read-events.ts';

/** What a thread is asked for; it answers one after the other. */
interface ThreadJobs {
  /** How many events are read. */
  read: { ask: EventsToRead; answer: number | 'no memory' };
  count: { ask: Counting; answer: Counted | 'no memory' };
  rank: { ask: Ranks & Pick<Counted, 'lists'>; answer: number[] };
}

export type ThreadMessage =
  | { [Kind in keyof ThreadJobs]: { kind: Kind; ask: ThreadJobs[Kind]['ask'] } }[keyof ThreadJobs]
  /** Ends what is read. */
  | { kind: 'abort' };

export type ThreadAnswer = { ok: true; answer: unknown } | { ok: false; message: string };

/** What a thread begins with. */
export interface ThreadData {
  /** Where it reads. */
  clickhouse: ClickhouseSettings;
  memory: EventMemory;
  /** Its number, from 0 on. */
  thread: number;
}

interface Waiting {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** Heap of a thread, MiB; the events themselves lie outside of it. */
const HEAP_MIB = 64;

/** A thread that reads and counts events; it answers jobs in the order in which they are sent. */
export class ReportThread {
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];
  #ended: Error | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(data: ThreadData) {
    this.#worker = new Worker(new URL('report-worker.ts', import.meta.url), {
      name: 'reports',
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker.unref();
    this.#worker
      .on('message', (answer: ThreadAnswer) => {
        const waiting = this.#waiting.shift();
        if (answer.ok) waiting?.resolve(answer.answer);
        else waiting?.reject(new Error(answer.message));
      })
      .on('error', (error: Error) => this.#end(error))
      .on('exit', () => this.#end(new Error('a thread of reports has ended')));
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Rejects when the job fails, or when the thread ends. */
  async run<Kind extends keyof ThreadJobs>(
    kind: Kind,
    ask: ThreadJobs[Kind]['ask'],
  ): Promise<ThreadJobs[Kind]['answer']> {
    if (this.#ended) throw this.#ended;
    const answer = new Promise<ThreadJobs[Kind]['answer']>((resolve, reject) => {
      this.#waiting.push({ resolve: resolve as (answer: unknown) => void, reject });
      this.#post({ kind, ask } as ThreadMessage);
    });
    this.#last = answer;
    return await answer;
  }

  /** Resolves when all jobs are answered, or have failed. */
  async finished(): Promise<void> {
    await Promise.allSettled([this.#last]);
  }

  /** Ends what it reads: the job fails. */
  abort(): void {
    this.#post({ kind: 'abort' });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #post(message: ThreadMessage): void {
    this.#worker.postMessage(message);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended);
  }
}
