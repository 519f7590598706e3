import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import {
  carriedFingerprint,
  isUnknownSchema,
  rowBatchCodec,
  UnreadableRecord,
} from '../../schemas/codec.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RowBatch } from '../../schemas/records.ts';
import { sliceRowBatch, type EncodedRowBatch } from '../../schemas/row-batch.ts';
import { rowDecoders } from '../../schemas/row-decoder.ts';
import { rowVersion, rowVersionOf } from '../../schemas/row-versions.ts';
import type { RecordSummary } from './plan.ts';

/** Why a record cannot be decoded; `reason` is a stable code. */
export interface DecodeFailure {
  reason: string;
  detail: string;
}

/**
 * A record of events.normalised: the summary is the input of `plan`, the rows go into an insert.
 */
export type DecodedRecord = { message: ConsumedMessage; summary: RecordSummary } & (
  { rowBatch: EncodedRowBatch; failure?: never } | { failure: DecodeFailure; rowBatch?: never }
);

/** A record that holds rows. */
export type RowRecord = DecodedRecord & { rowBatch: EncodedRowBatch };

/**
 * Decodes the head of a record. Rows are not decoded unless they are in several Avro blocks. The
 * result for a record that cannot be decoded contains the reason. Throws UnreadableRecord for an
 * unknown schema only: the reader waits for a release that knows it.
 */
export function decodeRecord(message: ConsumedMessage): DecodedRecord {
  const { offset, value, size } = message;
  try {
    if (!value) throw new UnreadableRecord('not_single_object', 'the record has no value');
    const fingerprint = carriedFingerprint(value);
    const rowBatch = sliceRowBatch(value) ?? inOneBlock(rowBatchCodec.decode(value), fingerprint);
    const { head, count } = rowBatch;
    const first = { epoch: head.epoch, offset: head.first_offset, index: head.first_index };
    const last = { epoch: head.epoch, offset: head.last_offset, index: head.last_index };
    if (head.partition !== message.partition) {
      const detail = `the rows are of partition ${head.partition} of events.raw`;
      return undecodable(message, { reason: 'wrong_partition', detail });
    }
    // A batch without rows: all of them were erased.
    if (count < 0 || comparePartitionPositions(first, last) > 0) {
      const detail = 'the head of the row batch contradicts itself';
      return undecodable(message, { reason: 'broken_run', detail });
    }
    return {
      message,
      rowBatch,
      summary: { kind: 'rows', offset, bytes: size, fingerprint, first, last, rows: count },
    };
  } catch (error) {
    if (!(error instanceof UnreadableRecord) || isUnknownSchema(error)) throw error;
    return undecodable(message, { reason: error.code, detail: error.message });
  }
}

function undecodable(message: ConsumedMessage, failure: DecodeFailure): DecodedRecord {
  const { offset, size } = message;
  return { message, failure, summary: { kind: 'unreadable', offset, bytes: size } };
}

/** Encodes the rows of several Avro blocks as one block of the version that the record has. */
function inOneBlock({ rows, ...head }: RowBatch, fingerprint: string): EncodedRowBatch {
  const known = rowVersionOf(fingerprint);
  if (!known) throw new UnreadableRecord('unknown_schema', `${fingerprint} is no row batch`);
  const { type, version } = known;
  const datums = rows.map((row) => type.toBuffer(row));
  return { version, head, count: rows.length, rows: Buffer.concat(datums) };
}

/** A row for recovery: its Avro datum and what finds it in ClickHouse. */
export interface EncodedRow {
  position: PartitionPosition;
  account_id: number;
  event: string;
  message_id: string;
  /** ms since the epoch */
  timestamp: number;
  received_at: number;
  datum: Buffer;
}

const decoders = rowDecoders({
  fields: [
    ...(['_epoch', '_offset', '_index', 'account_id', 'event', 'message_id'] as const),
    ...(['timestamp', 'received_at'] as const),
  ],
  row: (row): Omit<EncodedRow, 'datum'> => ({
    position: { epoch: row._epoch, offset: row._offset, index: row._index },
    account_id: row.account_id,
    event: row.event,
    message_id: row.message_id,
    timestamp: row.timestamp,
    received_at: row.received_at,
  }),
});

/** Splits `count` rows of one version; undefined unless the bytes are exactly these. */
export function splitRows({
  version,
  count,
  rows: datums,
}: Pick<EncodedRowBatch, 'version' | 'count' | 'rows'>): EncodedRow[] | undefined {
  const rows: EncodedRow[] = [];
  const decoder = decoders.get(rowVersion(version).version);
  if (!decoder) return undefined;
  let at = 0;
  for (let row = 0; row < count; row++) {
    const keys = decoder.read(datums, at);
    if (!keys) return undefined;
    rows.push({ ...keys, datum: datums.subarray(at, decoder.end) });
    at = decoder.end;
  }
  return at === datums.length ? rows : undefined;
}
