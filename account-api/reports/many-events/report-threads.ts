import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { clearMemory, newMemory, type EventMemory } from './event-memory.ts';
import { MAX_MEMORY_BYTES, MIN_MEMORY_BYTES } from './memory-layout.ts';
import { ReportThread } from './report-thread.ts';

/** Threads and memory are given back after so long without a report, ms. */
const IDLE_MS = 300_000;

export interface ReportThreadsOptions {
  clickhouse: ClickhouseSettings;
  threads: number;
  /**
   * Memory for events, bytes; below MIN_MEMORY_BYTES no report is counted here,
   * and more than MAX_MEMORY_BYTES is not used.
   */
  memoryBytes: number;
}

/** The threads, until a report releases them. */
export interface Lease {
  threads: readonly ReportThread[];
  release: () => Promise<void>;
}

/**
 * The threads of a process that count events by person, and their memory. One report at a time has
 * them all, and none waits for them: its statement runs meanwhile, as it would without threads.
 */
export class ReportThreads {
  readonly #options: ReportThreadsOptions;
  #threads: ReportThread[] = [];
  #memory: EventMemory | undefined;
  #isLeased = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ReportThreadsOptions) {
    this.#options = options;
  }

  /**
   * Undefined: a report has them, or there are none. Throws where the system gives no memory, and
   * then answers undefined for IDLE_MS.
   */
  lease(): Lease | undefined {
    const { memoryBytes, threads, clickhouse } = this.#options;
    if (this.#isLeased || memoryBytes < MIN_MEMORY_BYTES) return undefined;
    clearTimeout(this.#timer);
    const memory = this.#clearedMemory();
    this.#threads = Array.from({ length: threads }, (_, thread) => {
      const running = this.#threads[thread];
      const isRunning = running && !running.hasEnded;
      return isRunning ? running : new ReportThread({ clickhouse, memory, thread });
    });
    this.#isLeased = true;
    return { threads: this.#threads, release: () => this.#release() };
  }

  #clearedMemory(): EventMemory {
    const { memoryBytes, threads } = this.#options;
    try {
      this.#memory ??= newMemory(Math.min(memoryBytes, MAX_MEMORY_BYTES), threads);
    } catch (error) {
      this.#isLeased = true;
      this.#timer = setTimeout(() => (this.#isLeased = false), IDLE_MS).unref();
      throw error;
    }
    clearMemory(this.#memory);
    return this.#memory;
  }

  /** Ends the threads and gives the memory back; a report that has them fails. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    this.#memory = undefined;
    await Promise.all(this.#threads.splice(0).map((thread) => thread.end()));
  }

  async #release(): Promise<void> {
    // whoever gets the memory next must be the only one that writes it
    await Promise.all(this.#threads.map((thread) => thread.finished()));
    this.#isLeased = false;
    this.#timer = setTimeout(() => void this.end(), IDLE_MS).unref();
  }
}
