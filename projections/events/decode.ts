import avsc from 'avsc';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import {
  carriedFingerprint,
  eventRowCodec,
  rowBatchCodec,
  UnreadableRecord,
} from '../../schemas/codec.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';
import type { RowBatch } from '../../schemas/records.ts';
import { sliceRowBatch, type EncodedRowBatch } from '../../schemas/row-batch.ts';
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
 * Decodes the head of a record. Rows are not decoded unless another version of the schema wrote
 * them. Never throws: the result for a record that cannot be decoded contains the reason.
 */
export function decodeRecord(message: ConsumedMessage): DecodedRecord {
  const { offset, value, size } = message;
  try {
    if (!value) throw new UnreadableRecord('not_single_object', 'the record has no value');
    const rowBatch = sliceRowBatch(value) ?? reencode(rowBatchCodec.decode(value));
    const { head, count } = rowBatch;
    const first = { epoch: head.epoch, offset: head.first_offset, index: head.first_index };
    const last = { epoch: head.epoch, offset: head.last_offset, index: head.last_index };
    if (head.partition !== message.partition) {
      const detail = `the rows are of partition ${head.partition} of events.raw`;
      return undecodable(message, { reason: 'wrong_partition', detail });
    }
    if (count <= 0 || comparePartitionPositions(first, last) > 0) {
      const detail = 'the head of the row batch contradicts itself';
      return undecodable(message, { reason: 'broken_run', detail });
    }
    const fingerprint = carriedFingerprint(value);
    return {
      message,
      rowBatch,
      summary: { kind: 'rows', offset, bytes: size, fingerprint, first, last, rows: count },
    };
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    return undecodable(message, { reason: error.code, detail: error.message });
  }
}

function undecodable(message: ConsumedMessage, failure: DecodeFailure): DecodedRecord {
  const { offset, size } = message;
  return { message, failure, summary: { kind: 'unreadable', offset, bytes: size } };
}

/** Encodes rows of an older version, or of several Avro blocks, as one block of the newest. */
function reencode({ rows, ...head }: RowBatch): EncodedRowBatch {
  return {
    head,
    count: rows.length,
    rows: Buffer.concat(rows.map((row) => eventRowCodec.type.toBuffer(row))),
  };
}

/** A row for recovery: its Avro datum and what finds it in ClickHouse. */
export interface EncodedRow {
  position: PartitionPosition;
  account_id: number;
  event: string;
  message_id: string;
  /** ms since the epoch */
  timestamp: number;
  datum: Buffer;
}

interface KeyFields extends Omit<EncodedRow, 'position' | 'datum'> {
  _epoch: number;
  _offset: number;
  _index: number;
}

const KEY_FIELDS = [
  '_epoch',
  '_offset',
  '_index',
  'account_id',
  'event',
  'message_id',
  'timestamp',
];
const rowSchema = eventRowCodec.type.schema() as {
  name: string;
  fields: { name: string; type: avsc.Schema }[];
};
const keyType = avsc.Type.forSchema({
  type: 'record',
  name: rowSchema.name,
  fields: rowSchema.fields.filter(({ name }) => KEY_FIELDS.includes(name)),
});
const resolver = keyType.createResolver(eventRowCodec.type);

/** avsc returns `value` undefined when the bytes end early. */
const decodeKeyFields = keyType.decode.bind(keyType) as (
  bytes: Buffer,
  at: number,
  resolver: unknown,
) => { value: KeyFields | undefined; offset: number };

/** Splits datums of the newest event-row; undefined unless exactly `count`. */
export function splitRows(datums: Buffer, count: number): EncodedRow[] | undefined {
  const rows: EncodedRow[] = [];
  let at = 0;
  try {
    for (let row = 0; row < count; row++) {
      const { value, offset: end } = decodeKeyFields(datums, at, resolver);
      if (value === undefined || end <= at) return undefined;
      const { _epoch: epoch, _offset: offset, _index: index } = value;
      const { account_id, event, message_id, timestamp } = value;
      rows.push({
        position: { epoch, offset, index },
        account_id,
        event,
        message_id,
        timestamp,
        datum: datums.subarray(at, end),
      });
      at = end;
    }
  } catch {
    return undefined;
  }
  return at === datums.length ? rows : undefined;
}
