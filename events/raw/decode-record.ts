import { isJsonObject } from '../json.ts';
import { isUnknownSchema, rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import { RawReader, type RawContents, type RawFacts } from '../../schemas/raw-reader.ts';
import { recordsInBatch } from '../../schemas/raw-batch.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { allItemsOf, type Failure, type SourceRecord } from './failure.ts';
import { PLACES, scanEvents, type ScannedBody } from './scan-events.ts';

/** A record of events.raw whose body is JSON. Values are made of it when they are asked for. */
export class DecodedRecord {
  readonly state = 'decoded';
  readonly source: SourceRecord;
  readonly record: RawFacts;
  /** The body, from `bodyStart` to `bodyEnd`. */
  readonly bytes: Buffer;
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /** Where the body has its events; undefined for an uncommon one, which is parsed already. */
  readonly scanned: ScannedBody | undefined;
  #parsed: ParsedBody | undefined;
  #context: { value: unknown } | undefined;

  constructor(
    source: SourceRecord,
    { record, bytes, bodyStart, bodyEnd }: RawContents,
    body: ScannedBody | ParsedBody,
  ) {
    this.source = source;
    this.record = record;
    this.bytes = bytes;
    this.bodyStart = bodyStart;
    this.bodyEnd = bodyEnd;
    this.scanned = 'places' in body ? body : undefined;
    this.#parsed = 'places' in body ? undefined : body;
  }

  /** The client's events; `RawItem.at` is an index into them. */
  get envelopes(): readonly unknown[] {
    return this.#parse().envelopes;
  }

  /** `context` of the batch, for events without their own. */
  get batchContext(): unknown {
    if (this.#parsed || !this.scanned) return this.#parse().batchContext;
    const { contextStart, contextEnd } = this.scanned;
    this.#context ??= {
      value: contextEnd === 0 ? undefined : this.parse(contextStart, contextEnd),
    };
    return this.#context.value;
  }

  /** Whether the body has an event at this index. */
  hasEvent(at: number): boolean {
    return this.scanned
      ? this.scanned.places[at * PLACES + 1] !== undefined
      : isJsonObject(this.#parse().envelopes[at]);
  }

  /** One of the client's events; undefined when the body has no such event. */
  envelope(at: number): unknown {
    if (this.#parsed || !this.scanned) return this.#parse().envelopes[at];
    const { places } = this.scanned;
    const [start, end] = [places[at * PLACES], places[at * PLACES + 1]];
    return start === undefined || end === undefined ? undefined : this.parse(start, end);
  }

  /** The value of a part of the body that is JSON. */
  parse(start: number, end: number): unknown {
    return JSON.parse(this.bytes.toString('utf8', start, end)) as unknown;
  }

  #parse(): ParsedBody {
    if (this.#parsed) return this.#parsed;
    const body = parsedBody(this.record, this.parse(this.bodyStart, this.bodyEnd));
    if (typeof body === 'string') throw new Error(`a body that was scanned is none: ${body}`);
    return (this.#parsed = body);
  }
}

interface ParsedBody {
  envelopes: readonly unknown[];
  batchContext: unknown;
}

/** Returns what is wrong when the body is no event, or no batch. */
function parsedBody({ shape }: Pick<RawFacts, 'shape'>, body: unknown): ParsedBody | string {
  if (!isJsonObject(body)) return 'the body is not a JSON object';
  if (shape !== 'batch') return { envelopes: [body], batchContext: undefined };
  const { batch: envelopes, context: batchContext } = body;
  return Array.isArray(envelopes)
    ? { envelopes, batchContext }
    : 'the body of a batch has no array batch';
}

export interface UndecodableRecord {
  readonly state: 'undecodable';
  readonly source: SourceRecord;
  readonly failure: Failure;
  /** Receive time, ms; the append time when the record cannot be decoded. */
  readonly receivedAt: number;
}

export type DecodeResult = DecodedRecord | UndecodableRecord;

const reader = new RawReader();

/** The record with the bytes that clients sent, which a decoded one does not hold. */
export function wholeRecord({ source, record }: DecodedRecord): RawRecord {
  if (source.value === null) throw new Error('a decoded record has a value');
  const { body, delivery } = rawRecordCodec.decode(source.value);
  return { ...record, body, delivery };
}

/**
 * The raw records of a record of Kafka, in order: itself, or those of a raw batch. One that cannot
 * be decoded leaves the others of its batch as they are; a damaged batch is undecodable as a whole.
 * Throws as decodeRecord does.
 */
export function decodeRecords(source: SourceRecord): DecodeResult[] {
  let batch: ReturnType<typeof recordsInBatch>;
  try {
    batch = source.value === null ? undefined : recordsInBatch(source.value);
  } catch (error) {
    if (error instanceof UnreadableRecord)
      return [undecodable(source, { reason: error.code, detail: error.message })];
    throw error;
  }
  if (!batch) return [decodeRecord(source)];
  return batch.map(({ value, firstIndex, items }) =>
    decodeRecord({ ...source, value, inBatch: { firstIndex, items, record: source } }),
  );
}

/**
 * Decodes one raw record and checks its body. A record that cannot be decoded or parsed is
 * undecodable as a whole; other errors are thrown, as is an unknown schema (UnreadableRecord): the
 * reader waits for a release that knows it.
 */
export function decodeRecord(source: SourceRecord): DecodeResult {
  if (source.value === null)
    return undecodable(source, { reason: 'empty_record', detail: 'the record has no value' });
  let read: RawContents;
  try {
    read = reader.read(source.value);
  } catch (error) {
    if (error instanceof UnreadableRecord && !isUnknownSchema(error))
      return undecodable(source, { reason: error.code, detail: error.message });
    throw error;
  }
  const { record, bytes, bodyStart: from, bodyEnd: to } = read;
  const { inBatch } = source;
  if (inBatch && inBatch.items !== record.items.length)
    return undecodable(source, {
      reason: 'broken_datum',
      detail: `the raw batch says that the record has ${inBatch.items} items, it has ${record.items.length}`,
    });
  const scanned = scanEvents(bytes, { from, to, shape: record.shape });
  if (scanned) return new DecodedRecord(source, read, scanned);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8', from, to));
  } catch (error) {
    return invalidBody(source, {
      record,
      reason: 'body_not_json',
      detail: withoutQuotes((error as Error).message),
    });
  }
  const body = parsedBody(record, value);
  if (typeof body === 'string')
    return invalidBody(source, { record, reason: 'body_not_event', detail: body });
  return new DecodedRecord(source, read, body);
}

function undecodable(
  source: SourceRecord,
  why: Pick<Failure, 'reason' | 'detail'>,
): UndecodableRecord {
  return {
    state: 'undecodable',
    source,
    receivedAt: source.timestamp,
    failure: { ...why, ...allItemsOf(source), events: 0, accountId: null, messageId: '' },
  };
}

function invalidBody(
  source: SourceRecord,
  { record, ...why }: Pick<Failure, 'reason' | 'detail'> & { record: RawFacts },
): UndecodableRecord {
  const { items, account_id: accountId, received_at: receivedAt } = record;
  const messageId = items.length === 1 ? (items[0]?.message_id ?? '') : '';
  return {
    state: 'undecodable',
    source,
    receivedAt,
    failure: { ...why, ...allItemsOf(source), events: items.length, accountId, messageId },
  };
}

/** JSON.parse quotes the invalid text; a dead letter must not contain it. */
function withoutQuotes(message: string): string {
  return message
    .replace(/, (?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/, ' is not valid JSON')
    .replace(/"[^]*" is not valid JSON$/, 'the body is not valid JSON');
}
