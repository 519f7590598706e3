import type { EncodedRowBatch } from '../../schemas/row-batch.ts';
import type { ReadRecord } from './entry.ts';
import { comparePartitionPositions } from '../../schemas/log-position.ts';
import type { Piece } from './plan.ts';
import { splitRows, type Row } from './rows.ts';
import type { Batch } from './write.ts';

/** A readable record with the rows of it that belong to the batch. */
interface Part {
  record: ReadRecord & { run: EncodedRowBatch };
  count: number;
  datums: Buffer;
}

/** Where a row stands in the log: its record and its position among the record's rows. */
export interface Origin {
  record: ReadRecord & { run: EncodedRowBatch };
  index: number;
}

export interface AssembledBatch extends Batch {
  bytes: number;
  /** When the log took the raw record of the oldest row, ms since the epoch. */
  oldest: number;
  /**
   * Records whose rows turned out to be unreadable when they were decoded: they are not in `rows()`
   * and belong into events.dead.
   */
  broken(): readonly (ReadRecord & { run: EncodedRowBatch })[];
  origin(row: Row): Origin;
}

/**
 * Puts the pieces of a planned insert together. Rows are decoded only where a record was taken in
 * part before, or when `rows()` is asked for.
 */
export function assemble(options: {
  token: string;
  partition: number;
  pieces: readonly Piece[];
  records: readonly ReadRecord[];
}): AssembledBatch {
  const byOffset = new Map(options.records.map((record) => [record.message.offset, record]));
  const broken = new Set<ReadRecord & { run: EncodedRowBatch }>();
  const parts: Part[] = [];
  for (const { offset, above } of options.pieces) {
    const record = byOffset.get(offset);
    if (!record?.run) throw new Error(`record ${offset} was planned but is not at hand`);
    if (!above) {
      parts.push({ record, count: record.run.count, datums: record.run.rows });
      continue;
    }
    const rows = splitRows(record.run.rows, record.run.count);
    if (!rows) {
      broken.add(record);
      continue;
    }
    const kept = rows.filter(({ mark }) => comparePartitionPositions(mark, above) > 0);
    parts.push({
      record,
      count: kept.length,
      datums: Buffer.concat(kept.map(({ datum }) => datum)),
    });
  }
  let decoded: Row[] | undefined;
  const origins = new Map<Row, Origin>();
  const decode = (): Row[] =>
    parts.flatMap(({ record, count, datums }) => {
      const rows = splitRows(datums, count);
      if (!rows) broken.add(record);
      // A cut keeps the end of a record, so positions count from its end.
      rows?.forEach((row, at) =>
        origins.set(row, { record, index: record.run.count - count + at }),
      );
      return rows ?? [];
    });
  return {
    token: options.token,
    partition: options.partition,
    count: parts.reduce((sum, { count }) => sum + count, 0),
    datums: parts.map(({ datums }) => datums),
    bytes: parts.reduce((sum, { datums }) => sum + datums.length, 0),
    oldest: parts.reduce(
      (least, { record }) => Math.min(least, record.run.head.appended_at),
      Number.POSITIVE_INFINITY,
    ),
    rows: () => (decoded ??= decode()),
    broken: () => [...broken],
    origin(row) {
      const origin = origins.get(row);
      if (!origin) throw new Error('the row is not of this batch');
      return origin;
    },
  };
}
