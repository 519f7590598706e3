import type { ChunkWrite, WriteAnswer } from './chunk-row.ts';

/** Writes of one statement, and the bytes of their outcomes. */
const MAX_WRITES = 64;
const MAX_OUTCOME_BYTES = 2 * 1024 * 1024;

interface Waiting {
  write: ChunkWrite;
  resolve: (answer: WriteAnswer) => void;
  reject: (error: unknown) => void;
}

export interface ChunkWriterDeps {
  /** Writes them in one statement; it may be repeated when its answer is lost. */
  write: (writes: readonly ChunkWrite[]) => Promise<WriteAnswer[]>;
  /** Repeats a statement until it is answered. Rejects when the process ends. */
  untilAnswered: <T>(statement: () => Promise<T>) => Promise<T>;
  /** The statement will fail however often it is repeated. */
  isFinal: (error: unknown) => boolean;
}

/**
 * Gathers the writes of all chunks of the process into one statement at a time: the more are
 * waiting, the larger it is.
 */
export class ChunkWriter {
  readonly #deps: ChunkWriterDeps;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(deps: ChunkWriterDeps) {
    this.#deps = deps;
  }

  /** Rejects when the process ends, or for a write that PostgreSQL will never accept. */
  write(write: ChunkWrite): Promise<WriteAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      if (!this.#isWriting) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isWriting = true;
    // Those that become ready in the same turn of the event loop go together.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#writeSome(this.#take());
    this.#isWriting = false;
  }

  #take(): Waiting[] {
    let bytes = 0;
    const limit = this.#waiting.findIndex(({ write }, at) => {
      bytes += write.outcomes.length;
      return at > 0 && (at >= MAX_WRITES || bytes > MAX_OUTCOME_BYTES);
    });
    return this.#waiting.splice(0, limit < 0 ? this.#waiting.length : limit);
  }

  async #writeSome(some: readonly Waiting[]): Promise<void> {
    const { write, untilAnswered, isFinal } = this.#deps;
    try {
      const answers = await untilAnswered(() => write(some.map((one) => one.write)));
      for (const [at, { resolve }] of some.entries()) resolve(answers[at] ?? { kind: 'lost' });
    } catch (error) {
      // One that cannot be written does not keep the others from it.
      if (some.length > 1 && isFinal(error)) for (const one of some) await this.#writeSome([one]);
      else for (const { reject } of some) reject(error);
    }
  }
}
