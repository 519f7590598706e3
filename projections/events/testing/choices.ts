/**
 * Decisions of a simulated world, made beforehand so that a failing run can be shrunk. Once they
 * are used up everything goes well (0).
 */
export class Choices {
  readonly #made: readonly number[];
  #used = 0;

  constructor(made: readonly number[]) {
    this.#made = made;
  }

  /** A number from 0 to `below` - 1. */
  next(below: number): number {
    return (this.#made[this.#used++] ?? 0) % below;
  }

  /** True once in `every` times, and never after the choices are used up. */
  chance(every: number): boolean {
    return this.#used < this.#made.length && this.next(every) === every - 1;
  }
}
