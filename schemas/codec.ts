import type avsc from 'avsc';
import { fingerprint } from './fingerprint.ts';
import { loadSchemas, type LoadedSchema } from './load.ts';
import type {
  DeadLetter,
  EventRow,
  IdentityCommand,
  IngestOutcome,
  RowBatch,
  RawRecord,
  VerdictRecord,
} from './records.ts';

/** Bytes before the datum: `C3 01` and the fingerprint, little endian (Avro 1.12). */
export const HEADER_BYTES = 10;

/** A record that no schema in schemas/ can read. `code` is stable. */
export class UnreadableRecord extends Error {
  readonly code: 'not_single_object' | 'unknown_schema' | 'broken_datum';
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

/** The decoded record; undefined when it has no value, or one that no schema can read. */
export function decodeIfReadable<T>(codec: Codec<T>, value: Buffer | null): T | undefined {
  try {
    return value === null ? undefined : codec.decode(value);
  } catch (error) {
    if (error instanceof UnreadableRecord) return undefined;
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
  return bytes.readBigUInt64LE(2).toString(16).padStart(16, '0');
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
      if (!reader)
        throw new UnreadableRecord(
          'unknown_schema',
          `no version of ${subject} in schemas/ has the fingerprint ${carried}`,
        );
      return datumOf(bytes, reader.type, reader.resolver);
    },
  };
}

/** A larger scratch buffer is dropped after use. */
const MAX_SCRATCH = 16 * 1024 * 1024;

export const rawRecordCodec = codecOf<RawRecord>('raw-record');
export const eventRowCodec = codecOf<EventRow>('event-row');
export const rowBatchCodec = codecOf<RowBatch>('normalised-run');
export const deadLetterCodec = codecOf<DeadLetter>('dead-letter');
export const ingestOutcomeCodec = codecOf<IngestOutcome>('ingest-outcome');
export const verdictRecordCodec = codecOf<VerdictRecord>('verdict-record');
export const identityCommandCodec = codecOf<IdentityCommand>('identity-command');
