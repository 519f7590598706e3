import { comparePartitionPositions } from '../../schemas/log-position.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS } from '../../schemas/row-versions.ts';
import { splitRows, type DecodedRecord, type EncodedRow, type RowRecord } from './decode.ts';
import { isStored } from './native/column-types.ts';
import type { RecordSlice } from './plan.ts';

/** The rows of one insert: `datums` holds `count` encoded rows of one version of event-row. */
export interface InsertBatch {
  version: number;
  token: string;
  partition: number;
  count: number;
  datums: readonly Buffer[];
  /** Decodes the rows, in order. Only recovery needs them. */
  rows(): readonly EncodedRow[];
}

/** The insert batch of consecutive records, with what dead letters and metrics need. */
export interface AssembledBatch extends InsertBatch {
  bytes: number;
  /** When the raw record of the oldest row was appended, ms since the epoch. */
  oldest: number;
  /** Undecodable records so far: not in `rows()`; they belong in events.dead. */
  broken(): readonly RowRecord[];
  /** The record that a row comes from and the index of the row in it. */
  origin(row: EncodedRow): { record: RowRecord; index: number };
}

/** The rows of one record that belong to the batch. */
interface BatchPart {
  record: RowRecord;
  count: number;
  datums: Buffer;
}

/** Assembles the slices of a planned insert. Decodes only records that were processed in part. */
export function assemble(options: {
  token: string;
  partition: number;
  slices: readonly RecordSlice[];
  records: readonly DecodedRecord[];
}): AssembledBatch {
  const { token, partition, slices } = options;
  const byOffset = new Map(options.records.map((record) => [record.message.offset, record]));
  const broken = new Set<RowRecord>();
  const parts: BatchPart[] = [];
  for (const { offset, above } of slices) {
    const record = byOffset.get(offset);
    if (!record?.rowBatch) throw new Error(`record ${offset} was planned but is not in memory`);
    const { rowBatch } = record;
    if (!above) {
      parts.push({ record, count: rowBatch.count, datums: rowBatch.rows });
      continue;
    }
    const rows = splitRows(rowBatch);
    if (!rows) {
      broken.add(record);
      continue;
    }
    const kept = rows.filter(({ position }) => comparePartitionPositions(position, above) > 0);
    const datums = Buffer.concat(kept.map(({ datum }) => datum));
    parts.push({ record, count: kept.length, datums });
  }
  let decoded: EncodedRow[] | undefined;
  const version = parts[0]?.record.rowBatch.version ?? NEWEST_ROW_VERSION;
  if (parts.some(({ record }) => record.rowBatch.version !== version))
    throw new Error(`the rows of ${token} are of several versions`);
  const origins = new Map<EncodedRow, { record: RowRecord; index: number }>();
  const decode = (): EncodedRow[] =>
    parts.flatMap(({ record, count, datums }) => {
      const rows = splitRows({ version, count, rows: datums });
      if (!rows) broken.add(record);
      // A slice is the end of its record, so the index counts from the end.
      rows?.forEach((row, at) =>
        origins.set(row, { record, index: record.rowBatch.count - count + at }),
      );
      return rows ?? [];
    });
  return {
    version,
    token,
    partition,
    count: parts.reduce((sum, { count }) => sum + count, 0),
    datums: parts.map(({ datums }) => datums),
    bytes: parts.reduce((sum, { datums }) => sum + datums.length, 0),
    oldest: parts.reduce(
      (oldest, { record }) => Math.min(oldest, record.rowBatch.head.appended_at),
      Number.POSITIVE_INFINITY,
    ),
    rows: () => (decoded ??= decode()),
    broken: () => [...broken],
    origin(row) {
      const origin = origins.get(row);
      if (!origin) throw new Error('the row does not belong to this batch');
      return origin;
    },
  };
}

/** Columns of ClickHouse `events`, in the order of the schema, by the version of the rows. */
const COLUMNS_OF: ReadonlyMap<number, readonly string[]> = new Map(
  ROW_VERSIONS.map(({ version, fields }) => [
    version,
    fields.map(({ name }) => name).filter(isStored),
  ]),
);

/** Columns of rows of this version. An insert names those that have a value. */
export function columnsOf(version: number): readonly string[] {
  return COLUMNS_OF.get(version) ?? [];
}

/** Columns of the newest version. */
export const COLUMNS: readonly string[] = columnsOf(NEWEST_ROW_VERSION);

/**
 * Columns in which a replayed row equals the stored one. Not the trace: rows of version 1 were
 * stored without it, and events.raw has it.
 */
export const COMPARED_COLUMNS: readonly string[] = COLUMNS.filter((name) => name !== '_trace');
