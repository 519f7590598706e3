import { AvroWriter } from './avro-writer.ts';
import { HEADER_BYTES, rawRecordCodec, singleObjectHeader, type Codec } from './codec.ts';
import type { LogPosition } from './log-position.ts';
import type { Delivery, RawItem, RawRecord } from './records.ts';

/** Bytes that are written where they are needed, instead of being copied together before. */
export interface BytesToWrite {
  readonly length: number;
  /** Writes exactly `length` bytes. */
  writeTo(writer: Pick<AvroWriter, 'raw'>): void;
}

/** A raw record to encode. */
export interface RawRecordToWrite extends Omit<RawRecord, 'body'> {
  body: Buffer | BytesToWrite;
}

/** Memory for so many bytes, with anything in it. */
export type Allocate = (bytes: number) => Buffer;

const allocateUnsafe: Allocate = (bytes) => Buffer.allocUnsafe(bytes);

/** A larger buffer is dropped after use. */
const BUFFER_BYTES = 256 * 1024;

/** The fields that `writeDatum` writes, in their order. */
const FIELDS =
  'account_id,app_id,write_key_id,received_at,source,path,ip,user_agent,origin,trace,gateway,sequence,shape,body,items,redriven_from,delivery';

const writer = new AvroWriter(BUFFER_BYTES);

/**
 * Encodes as `codec` does, at less cost: gateways encode a record for each request and partition. A
 * codec of a version with other fields encodes itself. Throws RangeError for a number that a long
 * cannot represent.
 */
export function rawRecordEncoder(
  codec: Pick<Codec<RawRecord>, 'type' | 'encode'>,
): (record: RawRecordToWrite, allocate?: Allocate) => Buffer {
  const { fields } = codec.type.schema() as unknown as { fields: { name: string }[] };
  if (fields.map(({ name }) => name).join() !== FIELDS)
    return (record) => codec.encode({ ...record, body: bytesOf(record.body) });
  const header = singleObjectHeader(codec.type);
  return (record, allocate = allocateUnsafe) => {
    writer.reset(BUFFER_BYTES);
    writer.raw(header, 0, HEADER_BYTES);
    writeDatum(record);
    const bytes = allocate(writer.end);
    writer.bytes(0, writer.end).copy(bytes);
    return bytes;
  };
}

/** By the newest version. */
export const encodeRawRecord = rawRecordEncoder(rawRecordCodec);

/** The bytes in a buffer of their own. */
export function bytesOf(body: Buffer | BytesToWrite): Buffer {
  if (Buffer.isBuffer(body)) return body;
  const parts: Buffer[] = [];
  body.writeTo({ raw: (bytes, from, to) => void parts.push(bytes.subarray(from, to)) });
  return Buffer.concat(parts);
}

function writeDatum(record: RawRecordToWrite): void {
  writer.long(record.account_id);
  writer.long(record.app_id);
  writer.long(record.write_key_id);
  writer.long(record.received_at);
  writer.string(record.source);
  writer.string(record.path);
  writer.string(record.ip);
  writer.string(record.user_agent);
  writer.string(record.origin);
  writer.string(record.trace);
  writer.string(record.gateway);
  writer.long(record.sequence);
  writer.string(record.shape);
  writeBytes(record.body);
  writeItems(record.items);
  writePosition(record.redriven_from);
  writeDelivery(record.delivery);
}

function writeBytes(bytes: Buffer | BytesToWrite): void {
  writer.long(bytes.length);
  if (Buffer.isBuffer(bytes)) return writer.raw(bytes, 0, bytes.length);
  const from = writer.end;
  bytes.writeTo(writer);
  if (writer.end - from !== bytes.length)
    throw new RangeError(`${writer.end - from} bytes were written instead of ${bytes.length}`);
}

function writeItems(items: readonly RawItem[]): void {
  if (items.length > 0) writer.long(items.length);
  for (const item of items) {
    writer.long(item.at);
    writer.long(item.index);
    writer.string(item.type);
    writer.string(item.message_id);
    writer.boolean(item.generated);
    if (item.dedupe_id === null) writer.long(0);
    else {
      writer.long(1);
      writer.string(item.dedupe_id);
    }
    writer.long(item.timestamp);
  }
  writer.long(0);
}

function writePosition(position: LogPosition | null): void {
  if (position === null) return writer.long(0);
  writer.long(1);
  writer.long(position.epoch);
  writer.long(position.partition);
  writer.long(position.offset);
  writer.long(position.index);
}

function writeDelivery(delivery: Delivery | null): void {
  if (delivery === null) return writer.long(0);
  writer.long(1);
  writer.string(delivery.source);
  writer.string(delivery.topic);
  writeBytes(delivery.body);
}
