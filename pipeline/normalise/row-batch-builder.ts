import type { EventRow, RowBatchHead } from '../../schemas/records.ts';
import { joinRowBatch } from '../../schemas/row-batch.ts';
import { AvroWriter } from '../../schemas/avro-writer.ts';
import { RowEncoder } from '../../schemas/row-encoder.ts';

/** A normalised-run, encoded, and how many rows it holds. */
export interface BuiltRowBatch {
  value: Buffer;
  rows: number;
}

export interface RowBatchLimits {
  /** A run ends with the row that reaches one of these. */
  rows: number;
  bytes: number;
  /** A larger row fits into no record of the log. */
  rowBytes: number;
}

/**
 * Encodes rows one behind the other into a buffer that is used again for every run. Rows must come
 * in the order of their places, all of one partition. `add` throws when a row does not fit its
 * schema; the rows before it are untouched.
 */
export class RowBatchBuilder {
  readonly #limits: RowBatchLimits;
  readonly #writer: AvroWriter;
  readonly #encoder = new RowEncoder();
  #rows = 0;
  #head: RowBatchHead | undefined;
  #done: BuiltRowBatch[] = [];

  constructor(limits: RowBatchLimits) {
    this.#limits = limits;
    this.#writer = new AvroWriter(bufferSize(limits));
  }

  /** `appendedAt`: when the log took the raw record of the row, ms. */
  add(row: EventRow, appendedAt: number): 'added' | 'too_large' {
    const from = this.#writer.end;
    try {
      this.#encoder.encode(row, this.#writer);
    } catch (error) {
      this.#writer.truncate(from);
      throw error;
    }
    if (this.#writer.end - from > this.#limits.rowBytes) {
      this.#writer.truncate(from);
      return 'too_large';
    }
    // A large row goes alone, or a run with it could exceed what a record of the log may be.
    if (this.#writer.end > bufferSize(this.#limits)) this.#endBatch(from);
    this.#rows++;
    this.#head ??= headOf(row, appendedAt);
    this.#head.last_offset = row._offset;
    this.#head.last_index = row._index;
    if (this.#rows >= this.#limits.rows || this.#writer.end >= this.#limits.bytes)
      this.#endBatch(this.#writer.end);
    return 'added';
  }

  /** The runs of all rows since the last call. */
  finish(): BuiltRowBatch[] {
    this.#endBatch(this.#writer.end);
    const done = this.#done;
    this.#done = [];
    return done;
  }

  /** Ends the run with the bytes before `end`; what stands behind them begins the next one. */
  #endBatch(end: number): void {
    if (this.#head !== undefined) {
      const value = joinRowBatch({
        head: this.#head,
        count: this.#rows,
        rows: this.#writer.bytes(0, end),
      });
      this.#done.push({ value, rows: this.#rows });
    }
    this.#head = undefined;
    this.#rows = 0;
    if (end === this.#writer.end) this.#writer.reset(bufferSize(this.#limits));
    else this.#writer.shift(end);
  }
}

/** Twice the bound of a run, and what the buffer holds between runs. */
function bufferSize(limits: RowBatchLimits): number {
  return 2 * limits.bytes;
}

function headOf(row: EventRow, appendedAt: number): RowBatchHead {
  return {
    epoch: row._epoch,
    partition: row._partition,
    first_offset: row._offset,
    first_index: row._index,
    last_offset: row._offset,
    last_index: row._index,
    appended_at: appendedAt,
  };
}
