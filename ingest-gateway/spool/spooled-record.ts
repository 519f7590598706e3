import type { LogRecord } from '../../ingest/log-record.ts';
import { FRAME_HEADER_BYTES, sealFrame } from './frame.ts';

const VERSION = 1;
/** Version, account, events, partition, length of the topic, length of the key. */
const FIXED_BYTES = 1 + 8 + 4 + 4 + 1 + 4;
const NO_KEY = 0xffff_ffff;

/** Bytes of the frame of a record, apart from its value. */
export function frameHeadBytes(record: LogRecord): number {
  return (
    FRAME_HEADER_BYTES +
    FIXED_BYTES +
    Buffer.byteLength(record.topic) +
    (record.key === null ? 0 : Buffer.byteLength(record.key))
  );
}

/** The record's frame before its value, sealed over both; the value is written without a copy. */
export function encodeFrameHead(record: LogRecord, marker: Buffer): Buffer {
  const head = Buffer.allocUnsafe(frameHeadBytes(record));
  let at = head.writeUInt8(VERSION, FRAME_HEADER_BYTES);
  at = head.writeDoubleLE(record.accountId, at);
  at = head.writeUInt32LE(record.events, at);
  at = head.writeUInt32LE(record.partition, at);
  const topicBytes = head.write(record.topic, at + 1, 'utf8');
  at = head.writeUInt8(topicBytes, at) + topicBytes;
  if (record.key === null) head.writeUInt32LE(NO_KEY, at);
  else head.writeUInt32LE(head.write(record.key, at + 4, 'utf8'), at);
  sealFrame(head, { marker, rest: record.value });
  return head;
}

/** Reads the payload of a frame; undefined when its version or fields are unknown. */
export function decodePayload(payload: Buffer): LogRecord | undefined {
  if (payload.length < FIXED_BYTES || payload[0] !== VERSION) return undefined;
  const accountId = payload.readDoubleLE(1);
  const events = payload.readUInt32LE(9);
  const partition = payload.readUInt32LE(13);
  const topicEnd = 18 + payload.readUInt8(17);
  if (topicEnd + 4 > payload.length) return undefined;
  const topic = payload.toString('utf8', 18, topicEnd);
  const keyBytes = payload.readUInt32LE(topicEnd);
  const keyStart = topicEnd + 4;
  const keyEnd = keyBytes === NO_KEY ? keyStart : keyStart + keyBytes;
  if (keyEnd > payload.length) return undefined;
  const key = keyBytes === NO_KEY ? null : payload.toString('utf8', keyStart, keyEnd);
  return { topic, partition, key, value: payload.subarray(keyEnd), accountId, events };
}
