import type { RelayLimits } from './limits.ts';

/** What a chunk holds in memory until it is complete. */
interface ChunkSize {
  deliveries: number;
  characters: number;
}

/**
 * Completes the chunks of a partition in the order of the log, while attempts of later chunks are
 * already in flight. Chunks that are not complete yet are bounded in number, deliveries and
 * characters.
 */
export class CompletionOrder {
  readonly #limits: Pick<
    RelayLimits,
    'incompleteChunks' | 'incompleteDeliveries' | 'chunkCharacters'
  >;
  readonly #failed: (error: unknown) => void;
  readonly #held = { chunks: 0, deliveries: 0, characters: 0 };
  #last: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | undefined;

  /** @param failed called with the first error of a chunk; the chunks after it are not complete */
  constructor(
    limits: Pick<RelayLimits, 'incompleteChunks' | 'incompleteDeliveries' | 'chunkCharacters'>,
    failed: (error: unknown) => void,
  ) {
    this.#limits = limits;
    this.#failed = failed;
  }

  /** Waits until another chunk may begin. Rejects when a chunk has failed. */
  async untilRoom(): Promise<void> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      const { chunks, deliveries, characters } = this.#held;
      const { incompleteChunks, incompleteDeliveries, chunkCharacters } = this.#limits;
      const hasRoom =
        chunks < incompleteChunks &&
        deliveries < incompleteDeliveries &&
        characters < chunkCharacters;
      if (hasRoom) return;
      await this.#next();
    }
  }

  /** Runs `complete` once all chunks before this one are complete. */
  add({ deliveries, characters }: ChunkSize, complete: () => Promise<void>): void {
    this.#held.chunks++;
    this.#held.deliveries += deliveries;
    this.#held.characters += characters;
    this.#last = this.#last.then(async () => {
      try {
        if (!this.#failure) await complete();
      } catch (error) {
        this.#failure = { error };
        this.#failed(error);
      }
      this.#held.chunks--;
      this.#held.deliveries -= deliveries;
      this.#held.characters -= characters;
      this.#wake();
    });
  }

  /** Calls `then` once everything added so far is complete; never after a failure. */
  afterAll(then: () => void): void {
    this.#last = this.#last.then(() => {
      if (!this.#failure) then();
    });
  }

  /** Resolves when everything added so far is complete. Rejects when a chunk has failed. */
  async untilIdle(): Promise<void> {
    await this.#last;
    if (this.#failure) throw this.#failure.error;
  }

  #waiters: (() => void)[] = [];

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
