import type { BatchLimits } from './consumer-types.ts';

/** A batch that takes longer is followed by one of half as much, ms. */
const SLOW_MS = 2000;
/** After one that takes less, the next may be twice as large, ms. */
const QUICK_MS = SLOW_MS / 4;
/** The smallest part of a full batch. */
const MIN_SHARE = 1 / 256;

/**
 * How much of a full batch a consumer takes at once. A rebalance waits for a batch for a few
 * seconds, and what has not ended by then is processed again: where rebalances are as frequent as
 * a batch is long, a consumer would never get on. So batches are made to end in time, on a machine
 * as slow as it may be.
 */
export class BatchPace {
  #share = 1;

  /** The limits of the next batch. */
  of(full: BatchLimits): BatchLimits {
    if (this.#share === 1) return full;
    const part = (limit: number) => Math.max(1, Math.floor(limit * this.#share));
    return { ...full, records: part(full.records), bytes: part(full.bytes) };
  }

  /** A batch was processed in so many ms. */
  ended(ms: number): void {
    if (ms > SLOW_MS) this.#set(this.#share / 2);
    else if (ms < QUICK_MS) this.#set(this.#share * 2);
  }

  /** A partition was released before its batch had ended. */
  interrupted(): void {
    this.#set(this.#share / 4);
  }

  #set(share: number): void {
    this.#share = Math.min(1, Math.max(MIN_SHARE, share));
  }
}
