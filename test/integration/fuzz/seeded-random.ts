import { seededRandom } from '../../../cli/demo/random.ts';

/** Choices that depend on the seed alone. */
export class SeededRandom {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** A whole number from 0 to below n. */
  below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  hex(length: number): string {
    return this.bytes(length / 2).toString('hex');
  }
}
