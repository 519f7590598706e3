import type { EventRow } from '../schemas/records.ts';

/**
 * How far a rebuild has read a partition. The job ledger stores it as JSON (`log_jobs.positions`),
 * so the field names are fixed.
 */
export interface RebuildProgress {
  /** Next offset to read of the source topic. */
  next: number;
  /** Last processed position of events.raw. `epoch`: only when events.normalised is read. */
  place: { offset: number; index: number; epoch?: number };
}

/**
 * Rows of one partition in the order of their log positions. They may be decoded in part: as far as
 * the target of the projection reads them.
 */
export interface RebuildBatch<Row = EventRow> {
  partition: number;
  rows: Row[];
  /** Rows that the pipeline first sent to events.dead and that a replay added later. */
  revived: ReadonlySet<Row>;
  /** Progress of the partition after this batch. */
  progress: RebuildProgress;
  records: number;
}

/** A shadow table that is being filled; each projection that is made of rows implements one. */
export interface RebuildTarget<Row = EventRow> {
  /**
   * Resolves when the target can accept more; rows may still be in flight then. Batches of one
   * partition come in order. Rejects with RebuildImpossible when the table cannot be rebuilt.
   */
  add(batch: RebuildBatch<Row>): Promise<void>;
  /** Resolves when every added row is stored. */
  flush(): Promise<void>;
}

/**
 * A range of one partition whose insert may have happened: the job records it, and the next process
 * repeats it under the same token.
 */
export interface OpenRange {
  from: RebuildProgress;
  until: RebuildProgress;
}

/** Where a target records its progress, so that another process can resume the rebuild. */
export interface RebuildJournal {
  /** Records the range before its rows are sent. */
  begin(partition: number, range: OpenRange): Promise<void>;
  /** Every row of the partition up to `progress` is stored. */
  stored(partition: number, progress: RebuildProgress): Promise<void>;
}

/** The table cannot be rebuilt from this log; the message says why. */
export class RebuildImpossible extends Error {}
