import type { Context } from 'liquidjs';
import { MAX_CPU_MS, MAX_RENDERED_NODES } from './limits.ts';

const NODES_BETWEEN_CHECKS = 256;

/** What one message may cost. Throws when it is used up. */
export class RenderBudget {
  readonly #cpuMs: () => number;
  readonly #until: number;
  #nodes = 0;

  /** @param cpuMs time of a core that this thread has used, ms */
  constructor(cpuMs: () => number) {
    this.#cpuMs = cpuMs;
    this.#until = cpuMs() + MAX_CPU_MS;
  }

  /** Called by liquidjs before each node, in place of its check of the wall clock. */
  check(): void {
    this.#nodes++;
    if (this.#nodes > MAX_RENDERED_NODES)
      throw new Error(
        `it renders more than ${MAX_RENDERED_NODES} tags and texts: let its loops run less often`,
      );
    if (this.#nodes % NODES_BETWEEN_CHECKS === 0) this.checkTime();
  }

  /** After each part: filters may take long, too. */
  checkTime(): void {
    if (this.#cpuMs() > this.#until)
      throw new Error(`it takes longer than ${MAX_CPU_MS} ms: simplify its loops and filters`);
  }

  /** liquidjs calls `check` and nothing else of it. */
  asLimiter(): Context['renderLimit'] {
    return this as unknown as Context['renderLimit'];
  }
}
