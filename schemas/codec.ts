import type avsc from 'avsc';
import { fingerprint } from './fingerprint.ts';
import { loadSchemas, type LoadedSchema } from './load.ts';
import type {
  ChannelCommand,
  DeadLetter,
  ErasureCommand,
  EventRow,
  IdentityCommand,
  IngestOutcome,
  MessageChunk,
  MessageOutcome,
  RowBatch,
  RawRecord,
  RawBatch,
  VerdictRecord,
} from './records.ts';

/** Bytes before the datum: `C3 01` and the fingerprint, little endian (Avro 1.12). */
export const HEADER_BYTES = 10;

/** A record that no schema in schemas/ can read. `code` is stable. */
export class UnreadableRecord extends Error {
  /**
   * `unknown_schema`: a newer release wrote it, so that its reader waits for an upgrade.
   * `other_schema`: a record of another kind.
   */
  readonly code: 'not_single_object' | 'unknown_schema' | 'other_schema' | 'broken_datum';
  constructor(code: UnreadableRecord['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnreadableRecord';
    this.code = code;
  }
}

export interface Codec<T> {
  /** Fingerprint of the newest version: what `encode` writes, as 16 hexadecimal digits. */
  readonly fingerprint: string;
  readonly type: avsc.Type;
  /** Single-object encoding by the newest version. Throws for a record that does not fit. */
  encode(record: T): Buffer;
  /** Reads a record of any version. Throws UnreadableRecord. */
  decode(bytes: Buffer): T;
}

/** A value within a record that only a newer release knows: its reader waits, as for a schema. */
export function newerRelease(what: string): UnreadableRecord {
  return new UnreadableRecord('unknown_schema', `a newer release wrote ${what}`);
}

/** Whether a newer release wrote the record: nothing may skip it. */
export function isUnknownSchema(
  error: unknown,
): error is UnreadableRecord & { code: 'unknown_schema' } {
  return error instanceof UnreadableRecord && error.code === 'unknown_schema';
}

/**
 * The decoded record; undefined when it has no value, or a damaged one. Throws UnreadableRecord for
 * an unknown schema.
 */
export function decodeIfReadable<T>(codec: Codec<T>, value: Buffer | null): T | undefined {
  try {
    return value === null ? undefined : codec.decode(value);
  } catch (error) {
    if (error instanceof UnreadableRecord && !isUnknownSchema(error)) return undefined;
    throw error;
  }
}

const schemas = loadSchemas(import.meta.dirname);

/** Every schema in schemas/, lower versions first. */
export function allSchemas(): readonly LoadedSchema[] {
  return schemas;
}

/** Fingerprint of one schema, as 16 hexadecimal digits. */
export function fingerprintOf(type: avsc.Type): string {
  return fingerprint(JSON.stringify(type.schema()));
}

/** The ten bytes before a datum of this type. */
export function singleObjectHeader(type: avsc.Type): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = 0xc3;
  header[1] = 0x01;
  header.writeBigUInt64LE(BigInt(`0x${fingerprintOf(type)}`), 2);
  return header;
}

/**
 * Fingerprint in the header of a record, as 16 hexadecimal digits. Throws UnreadableRecord when the
 * record has no single-object header.
 */
export function carriedFingerprint(bytes: Buffer): string {
  if (bytes.length < HEADER_BYTES || bytes[0] !== 0xc3 || bytes[1] !== 0x01) {
    throw new UnreadableRecord(
      'not_single_object',
      'the bytes do not begin with C3 01 and a fingerprint: they were not written by Ravand',
    );
  }
  const [low, high] = [bytes.readUInt32LE(2), bytes.readUInt32LE(6)];
  if (low !== carried.low || high !== carried.high)
    carried = { low, high, text: bytes.readBigUInt64LE(2).toString(16).padStart(16, '0') };
  return carried.text;
}

/** The fingerprint that was read last: making its text costs as much as reading two rows. */
let carried = { low: 0, high: 0, text: '0'.repeat(16) };

const known = new Set(schemas.map(({ type }) => fingerprintOf(type)));
/** The fingerprint that was seen last: nearly every record of a topic has the same one. */
let [lastLow, lastHigh] = [0, 0];

/** Whether the record names a schema that this release does not have. */
export function hasUnknownSchema(bytes: Buffer | null): boolean {
  if (bytes === null || bytes.length < HEADER_BYTES || bytes[0] !== 0xc3 || bytes[1] !== 0x01)
    return false;
  const [low, high] = [bytes.readUInt32LE(2), bytes.readUInt32LE(6)];
  if (low === lastLow && high === lastHigh) return false;
  if (!known.has(carriedFingerprint(bytes))) return true;
  [lastLow, lastHigh] = [low, high];
  return false;
}

/** Nearly every record has the newest fingerprint: comparing bytes is cheaper than making text. */
function beginsWith(bytes: Buffer, header: Buffer): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  for (let at = 0; at < HEADER_BYTES; at++) if (bytes[at] !== header[at]) return false;
  return true;
}

function codecOf<T>(subject: string): Codec<T> {
  const versions = schemas.filter((schema) => schema.subject === subject);
  const newest = versions.at(-1);
  if (!newest) throw new Error(`schemas/ holds no ${subject}.v*.avsc`);
  const header = singleObjectHeader(newest.type);
  const readers = new Map(
    versions.map((version) => [
      fingerprintOf(version.type),
      version === newest
        ? { type: newest.type }
        : { type: newest.type, resolver: newest.type.createResolver(version.type) },
    ]),
  );
  const datumOf = (
    bytes: Buffer,
    type: avsc.Type,
    resolver?: ReturnType<avsc.Type['createResolver']>,
  ): T => {
    let read: { value: T; offset: number };
    try {
      read = type.decode(bytes, HEADER_BYTES, resolver);
    } catch (cause) {
      throw new UnreadableRecord('broken_datum', `the bytes do not fit ${subject}`, { cause });
    }
    if (read.offset !== bytes.length)
      throw new UnreadableRecord(
        'broken_datum',
        `the bytes do not fit ${subject}: they end too early or too late`,
      );
    return read.value;
  };
  let scratch = Buffer.allocUnsafe(64 * 1024);
  return {
    fingerprint: fingerprintOf(newest.type),
    type: newest.type,
    encode(record) {
      header.copy(scratch);
      let end = newest.type.encode(record, scratch, HEADER_BYTES);
      if (end < 0) {
        scratch = Buffer.allocUnsafe(2 * (scratch.length - end));
        header.copy(scratch);
        end = newest.type.encode(record, scratch, HEADER_BYTES);
      }
      const bytes = Buffer.allocUnsafe(end);
      scratch.copy(bytes, 0, 0, end);
      if (scratch.length > MAX_SCRATCH) scratch = Buffer.allocUnsafe(64 * 1024);
      return bytes;
    },
    decode(bytes) {
      if (beginsWith(bytes, header)) return datumOf(bytes, newest.type);
      const carried = carriedFingerprint(bytes);
      const reader = readers.get(carried);
      if (!reader) throw unreadable(subject, carried);
      return datumOf(bytes, reader.type, reader.resolver);
    },
  };
}

/** Writes records of an earlier version: for fields that a record has no use for. */
export function writerOf(subject: string, version: number): (record: object) => Buffer {
  const found = schemas.find((one) => one.subject === subject && one.version === version);
  if (!found) throw new Error(`schemas/ holds no ${subject}.v${version}.avsc`);
  const header = singleObjectHeader(found.type);
  return (record) => Buffer.concat([header, found.type.toBuffer(record)]);
}

function unreadable(subject: string, carried: string): UnreadableRecord {
  const other = schemas.find(({ type }) => fingerprintOf(type) === carried);
  return other
    ? new UnreadableRecord('other_schema', `the record is a ${other.id}, not a ${subject}`)
    : new UnreadableRecord(
        'unknown_schema',
        `no schema of this release has the fingerprint ${carried}: a newer release wrote the record, and one that knows it must read it`,
      );
}

/** A larger scratch buffer is dropped after use. */
const MAX_SCRATCH = 16 * 1024 * 1024;

export const rawRecordCodec = codecOf<RawRecord>('raw-record');
export const rawBatchCodec = codecOf<RawBatch>('raw-batch');
export const eventRowCodec = codecOf<EventRow>('event-row');
export const rowBatchCodec = codecOf<RowBatch>('normalised-run');
export const deadLetterCodec = codecOf<DeadLetter>('dead-letter');
export const ingestOutcomeCodec = codecOf<IngestOutcome>('ingest-outcome');
export const verdictRecordCodec = codecOf<VerdictRecord>('verdict-record');
export const identityCommandCodec = codecOf<IdentityCommand>('identity-command');
export const erasureCommandCodec = codecOf<ErasureCommand>('erasure-command');
export const channelCommandCodec = codecOf<ChannelCommand>('channel-command');
export const messageChunkCodec = codecOf<MessageChunk>('message-chunk');
export const messageOutcomeCodec = codecOf<MessageOutcome>('message-outcome');
