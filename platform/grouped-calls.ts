import { delay } from './backoff.ts';

/** Too many calls are waiting; callers treat the store as unreachable. */
export class GroupOverloaded extends Error {
  override readonly name = 'GroupOverloaded';
}

interface GroupOptions<Input, Output> {
  /** Answers each input, in their order. */
  run: (inputs: Input[]) => Promise<Output[]>;
  /** Inputs of one run. */
  max?: number;
  /** Runs at a time. */
  concurrency?: number;
  /** Calls that wait for a run; further ones reject with GroupOverloaded. */
  maxWaiting?: number;
  /**
   * Between the beginnings of two runs, ms, unless `max` inputs wait: for statements that cost much
   * and hardly more for several inputs. A call after a pause waits for nothing.
   */
  intervalMs?: number;
  /**
   * From the first call of a run to its beginning, ms, unless `max` inputs wait: for calls that
   * come close together, but not at once.
   */
  gatherMs?: number;
}

interface Waiting<Input, Output> {
  input: Input;
  /** On the clock of `performance`, ms. */
  calledAt: number;
  resolve: (output: Output) => void;
  reject: (error: unknown) => void;
}

const MAX = 200;
const MAX_WAITING = 10_000;

/**
 * Makes one statement of concurrent calls: while one runs, the calls that arrive are gathered for
 * the next one. So many requests at once cost a store little more than a few, and one request
 * alone waits for nothing, unless `gatherMs` is set. A statement that PostgreSQL refuses for its
 * values is run again for each input alone: what one caller sent fails no other.
 */
export class GroupedCalls<Input, Output> {
  readonly #options: GroupOptions<Input, Output>;
  readonly #waiting: Waiting<Input, Output>[] = [];
  #running = 0;
  #beganAt = Number.NEGATIVE_INFINITY;

  constructor(options: GroupOptions<Input, Output>) {
    this.#options = options;
  }

  /** Rejects as `run` does, or with GroupOverloaded. */
  call(input: Input): Promise<Output> {
    const { maxWaiting = MAX_WAITING, concurrency = 1 } = this.#options;
    if (this.#waiting.length >= maxWaiting)
      return Promise.reject(new GroupOverloaded(`${maxWaiting} calls are waiting already`));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, calledAt: performance.now(), resolve, reject });
      if (this.#running < concurrency) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running++;
    // What is called in the same turn belongs to one group.
    await Promise.resolve();
    const { max = MAX, intervalMs = 0, gatherMs = 0 } = this.#options;
    for (let [first] = this.#waiting; first; [first] = this.#waiting) {
      const beginsAt = Math.max(this.#beganAt + intervalMs, first.calledAt + gatherMs);
      const early = beginsAt - performance.now();
      if (early > 0 && this.#waiting.length < max) await delay(early);
      else {
        this.#beganAt = performance.now();
        await this.#runGroup(this.#waiting.splice(0, max));
      }
    }
    this.#running--;
  }

  async #runGroup(group: readonly Waiting<Input, Output>[]): Promise<void> {
    try {
      const outputs = await this.#options.run(group.map(({ input }) => input));
      if (outputs.length !== group.length)
        throw new Error(`${group.length} calls got ${outputs.length} answers`);
      for (const [at, { resolve }] of group.entries()) resolve(outputs[at] as Output);
    } catch (error) {
      if (group.length > 1 && isAboutValues(error))
        for (const one of group) await this.#runGroup([one]);
      else for (const { reject } of group) reject(error);
    }
  }
}

/** SQLSTATE classes 22 and 23: data exceptions and violated constraints, whenever it is tried. */
export function isAboutValues(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));
}
