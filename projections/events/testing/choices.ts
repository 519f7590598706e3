/**
 * Decisions of a simulation, drawn in advance so that fast-check can shrink a failing run. When
 * they are used up, everything succeeds (0).
 */
export class Choices {
  readonly #drawn: readonly number[];
  #used = 0;

  constructor(drawn: readonly number[]) {
    this.#drawn = drawn;
  }

  /** A number from 0 to `below` - 1. */
  next(below: number): number {
    return (this.#drawn[this.#used++] ?? 0) % below;
  }

  /** True once in `every` times, never after the decisions are used up. */
  chance(every: number): boolean {
    return this.#used < this.#drawn.length && this.next(every) === every - 1;
  }
}
