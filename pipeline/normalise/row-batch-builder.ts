import type { EncodedRow } from '../../events/raw/encode-item.ts';
import { AvroWriter } from '../../schemas/avro-writer.ts';
import type { EventRow, RowBatchHead } from '../../schemas/records.ts';
import { joinRowBatch } from '../../schemas/row-batch.ts';
import { RowEncoder } from '../../schemas/row-encoder.ts';
import type { EncodedDatum } from '../../schemas/row-reader.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';

/** An encoded normalised-run, the number of its rows, and from which raw records they are. */
export interface BuiltRowBatch {
  value: Buffer;
  rows: number;
  /** Offsets of the first and the last of them. */
  from: number;
  to: number;
}

export interface RowBatchLimits {
  /** A batch ends with the row that reaches one of these. */
  rows: number;
  bytes: number;
  /** A larger row exceeds the size of a Kafka record. */
  rowBytes: number;
}

/**
 * Encodes rows into one buffer that is reused for every batch. Rows must be of one partition and
 * ordered by position. `add` throws when a row does not match its schema, and leaves the rows
 * before it untouched.
 */
export class RowBatchBuilder {
  readonly #limits: RowBatchLimits;
  readonly #writer: AvroWriter;
  readonly #encoder = new RowEncoder();
  readonly #written: () => number;
  #version: number;
  #rows = 0;
  #head: RowBatchHead | undefined;
  #built: BuiltRowBatch[] = [];

  /** @param written the version of event-row to write; asked at the beginning of each batch */
  constructor(limits: RowBatchLimits, written: () => number = () => NEWEST_ROW_VERSION) {
    this.#limits = limits;
    this.#written = written;
    this.#version = written();
    this.#writer = new AvroWriter(bufferSize(limits));
  }

  /** `appendedAt`: append time of the row's raw record, ms. */
  add(row: EventRow | EncodedRow, appendedAt: number): 'added' | 'too_large' {
    const from = this.#writer.end;
    if (from === 0 && !('encoded' in row)) this.#version = this.#written();
    try {
      if ('encoded' in row) this.#copy(row.encoded);
      else this.#encoder.encode(row, this.#writer, this.#version);
    } catch (error) {
      this.#writer.truncate(from);
      throw error;
    }
    if (this.#writer.end - from > this.#limits.rowBytes) {
      this.#writer.truncate(from);
      return 'too_large';
    }
    // The head names one epoch: readers compare the positions of all rows with it.
    const isNewEpoch = this.#head !== undefined && this.#head.epoch !== row._epoch;
    // A large row gets a batch of its own: appended, it could exceed the size of a Kafka record.
    if (isNewEpoch || this.#writer.end > bufferSize(this.#limits)) this.#endBatch(from);
    this.#rows++;
    this.#head ??= headOf(row, appendedAt);
    this.#head.last_offset = row._offset;
    this.#head.last_index = row._index;
    if (this.#rows >= this.#limits.rows || this.#writer.end >= this.#limits.bytes)
      this.#endBatch(this.#writer.end);
    return 'added';
  }

  /** The version in which the next row must be encoded. */
  get version(): number {
    if (this.#writer.end === 0) this.#version = this.#written();
    return this.#version;
  }

  #copy({ version, bytes, from, to }: EncodedDatum): void {
    if (version !== this.#version)
      throw new Error(`a row of version ${version} cannot follow those of ${this.#version}`);
    this.#writer.raw(bytes, from, to);
  }

  /** Ends the current batch and returns all batches since the last call. */
  finish(): BuiltRowBatch[] {
    this.#endBatch(this.#writer.end);
    const built = this.#built;
    this.#built = [];
    return built;
  }

  /** Ends the batch with the bytes before `end`; the bytes after it begin the next batch. */
  #endBatch(end: number): void {
    if (this.#head !== undefined) {
      const value = joinRowBatch({
        version: this.#version,
        head: this.#head,
        count: this.#rows,
        rows: this.#writer.bytes(0, end),
      });
      const { first_offset: from, last_offset: to } = this.#head;
      this.#built.push({ value, rows: this.#rows, from, to });
    }
    this.#head = undefined;
    this.#rows = 0;
    if (end === this.#writer.end) this.#writer.reset(bufferSize(this.#limits));
    else this.#writer.shift(end);
  }
}

/** The buffer has twice the size limit of a batch, and shrinks back to it between batches. */
function bufferSize(limits: RowBatchLimits): number {
  return 2 * limits.bytes;
}

function headOf(row: EventRow | EncodedRow, appendedAt: number): RowBatchHead {
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
