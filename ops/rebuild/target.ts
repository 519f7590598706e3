import type { Progress, RowBatch } from './pass.ts';

/** A table that is being filled. */
export interface Target {
  /**
   * Resolves when it can take more; rows may still be on their way then. Batches of one partition
   * come in order.
   */
  take(batch: RowBatch): Promise<void>;
  /** Resolves when everything that was taken is stored. */
  flush(): Promise<void>;
}

/**
 * Rows that are being written to a partition of a target, as they stand in the job: written again
 * under the same token after a crash.
 */
export interface OpenRows {
  from: Progress;
  until: Progress;
}

/** What a target says to the job that runs it. */
export interface JobNotes {
  /** Before rows are sent that must not be stored twice. */
  begin(partition: number, rows: OpenRows): Promise<void>;
  /** Everything of the partition up to there is stored. */
  stored(partition: number, progress: Progress): Promise<void>;
}
