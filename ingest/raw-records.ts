import { truncateBytes } from '../events/bytes.ts';
import { accountSeed, distinctIdHash } from '../events/partition.ts';
import { MAX_USER_AGENT_BYTES } from '../events/user-agent.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';
import {
  encodeRawRecord,
  type Allocate,
  type BytesToWrite,
} from '../schemas/raw-record-encoder.ts';
import type { Delivery, RawItem } from '../schemas/records.ts';
import type { LogRecord } from './log-record.ts';
import { TOPIC } from '../schemas/topology.ts';
import type { RequestFacts } from './request.ts';

/**
 * More than a scheme, a host name and a port take. Nothing reads the header, so that of several
 * records only the first has it.
 */
const MAX_ORIGIN_BYTES = 272;

/**
 * An accepted event under the ids it is stored with. `dedupe_id` is its identity where the message
 * id is not: no other event has the same.
 */
export interface StoredEvent extends Omit<AcceptedEvent, 'warnings'> {
  dedupe_id?: string;
}

/** The bytes of a request's events. */
export interface EventBytes {
  /** The request's body, stored unchanged when all its events go to one partition. */
  readonly whole: Buffer | undefined;
  /**
   * A batch body of some events.
   * @param indices their `index`
   * @param records into how many records the request is split; each has a copy of what is common
   */
  batchOf(indices: readonly number[], records: number): Buffer | BytesToWrite;
}

export interface RawRecordsInput {
  request: RequestFacts;
  /** Events to publish, in the order of the request; at least one. */
  events: readonly StoredEvent[];
  bytes: EventBytes;
  /** What a platform delivered; the first record contains it. */
  delivery: Delivery | null;
  partitions: number;
  gateway: string;
  /** Sequence number of the first event. */
  sequence: number;
  /** Of the values; by default memory that nobody gives back. */
  allocate?: Allocate | undefined;
}

/**
 * A record with the positions of its events in `events`; undefined when it contains all of them.
 */
export interface RawRecordOf {
  record: LogRecord;
  positions: readonly number[] | undefined;
}

/** The raw records of a request: one for each partition of its people. */
export function rawRecords(input: RawRecordsInput): RawRecordOf[] {
  const { events, partitions } = input;
  const seed = accountSeed(input.request.principal.accountId);
  let distinctId = events[0]?.distinctId ?? '';
  const first = distinctIdHash(seed, distinctId) % partitions;
  let partition = first;
  let positionsOf: Map<number, number[]> | undefined;
  for (let position = 1; position < events.length; position++) {
    const own = events[position]?.distinctId ?? '';
    // Most batches are those of one person.
    if (own !== distinctId) {
      distinctId = own;
      partition = distinctIdHash(seed, own) % partitions;
    }
    if (!positionsOf) {
      if (partition === first) continue;
      positionsOf = new Map([[first, Array.from({ length: position }, (_, earlier) => earlier)]]);
    }
    const positions = positionsOf.get(partition);
    if (positions) positions.push(position);
    else positionsOf.set(partition, [position]);
  }
  return positionsOf
    ? recordPerPartition(input, positionsOf)
    : [{ record: onlyRecord(input, first), positions: undefined }];
}

function onlyRecord(input: RawRecordsInput, partition: number): LogRecord {
  const { events, bytes, sequence, delivery } = input;
  const body = bytes.whole;
  if (!body) return partialRecord(input, { partition, events, sequence, delivery, records: 1 });
  const items = events.map((event) => rawItem(event, event.index));
  return logRecord(input, { partition, body, items, sequence, delivery });
}

function recordPerPartition(
  input: RawRecordsInput,
  positionsOf: ReadonlyMap<number, readonly number[]>,
): RawRecordOf[] {
  let { sequence, delivery } = input;
  let { origin } = input.request;
  const records: RawRecordOf[] = [];
  for (const [partition, positions] of positionsOf) {
    const events = positions.map((position) => eventAt(input.events, position));
    const part = { partition, events, sequence, delivery, records: positionsOf.size };
    const record = partialRecord({ ...input, request: { ...input.request, origin } }, part);
    records.push({ record, positions });
    sequence += positions.length;
    delivery = null;
    origin = '';
  }
  return records;
}

function eventAt(events: readonly StoredEvent[], position: number): StoredEvent {
  const event = events[position];
  if (!event) throw new RangeError(`there is no event at ${position}`);
  return event;
}

interface Part extends Pick<RawRecordsInput, 'events' | 'sequence' | 'delivery'> {
  partition: number;
  /** Into how many records the request is split. */
  records: number;
}

function partialRecord(input: RawRecordsInput, part: Part): LogRecord {
  const { events, records, ...rest } = part;
  const indices = events.map((event) => event.index);
  const body = input.bytes.batchOf(indices, records);
  return logRecord(input, { ...rest, body, items: events.map(rawItem) });
}

function rawItem(event: StoredEvent, at: number): RawItem {
  return {
    at,
    index: event.index,
    type: event.type,
    message_id: event.message_id,
    // An event of a webhook without a message id is stored without one.
    generated: event.generated && event.message_id !== '',
    dedupe_id: event.dedupe_id ?? null,
    timestamp: event.timestamp,
  };
}

interface Contents {
  partition: number;
  body: Buffer | BytesToWrite;
  items: RawItem[];
  sequence: number;
  delivery: Delivery | null;
}

function logRecord(
  { request, gateway, allocate }: RawRecordsInput,
  { partition, body, items, sequence, delivery }: Contents,
): LogRecord {
  const { principal } = request;
  const record = {
    account_id: principal.accountId,
    app_id: principal.appId,
    write_key_id: principal.writeKeyId,
    received_at: request.receivedAt,
    source: request.source,
    path: request.path,
    ip: request.ip,
    // Each record has a copy: no more than is stored (ingest 2.2).
    user_agent: truncateBytes(request.userAgent, MAX_USER_AGENT_BYTES),
    origin: truncateBytes(request.origin, MAX_ORIGIN_BYTES),
    trace: request.trace,
    gateway,
    sequence,
    shape: request.shape,
    body,
    items,
    redriven_from: null,
    delivery,
  };
  return {
    topic: TOPIC.raw,
    partition,
    // Nothing reads a key, and the client would return it with every delivery report.
    key: null,
    value: encodeRawRecord(record, allocate),
    accountId: principal.accountId,
    events: items.length,
  };
}
