import { accountSeed, distinctIdHash } from '../events/partition.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';
import { rawRecordCodec } from '../schemas/codec.ts';
import type { RawItem } from '../schemas/records.ts';
import type { LogRecord } from '../ingest-gateway/spool/spooled-record.ts';
import { reassemble } from './reassemble.ts';
import { sliceItems } from './slice-items.ts';
import type { Submission } from './submission.ts';
import { TOPIC } from '../schemas/topology.ts';

export const RAW_TOPIC = TOPIC.raw;

export interface Published {
  submission: Submission;
  /** Events to publish, in the order of the request; at least one. */
  events: readonly AcceptedEvent[];
  partitions: number;
  gateway: string;
  /** Acceptance number of the first event. */
  sequence: number;
}

/**
 * A record with the positions in `events` of the events that it carries; undefined stands for all
 * of them.
 */
export interface RawRecordOf {
  record: LogRecord;
  positions: readonly number[] | undefined;
}

/**
 * The raw records of a request: one for each partition that its people fall into. The body goes
 * whole when there is only one, otherwise each record carries the byte slices of its own items.
 */
export function rawRecords(published: Published): RawRecordOf[] {
  const { events, partitions, submission } = published;
  const seed = accountSeed(submission.principal.accountId);
  const first = partitionAt(events, 0, { seed, partitions });
  let positionsOf: Map<number, number[]> | undefined;
  for (let position = 1; position < events.length; position++) {
    const partition = partitionAt(events, position, { seed, partitions });
    if (!positionsOf) {
      if (partition === first) continue;
      positionsOf = new Map([[first, Array.from({ length: position }, (_, earlier) => earlier)]]);
    }
    const positions = positionsOf.get(partition);
    if (positions) positions.push(position);
    else positionsOf.set(partition, [position]);
  }
  if (!positionsOf) return [{ record: wholeBody(published, first), positions: undefined }];
  return slicedBodies(published, positionsOf);
}

function partitionAt(
  events: readonly AcceptedEvent[],
  position: number,
  { seed, partitions }: { seed: number; partitions: number },
): number {
  const name = events[position]?.distinctId ?? '';
  // A batch is often of one person: their hash is that of the event before.
  return distinctIdHash(seed, name) % partitions;
}

function wholeBody(published: Published, partition: number): LogRecord {
  const { events, submission } = published;
  const items = events.map((event) => rawItem(event, event.index));
  return logRecord(published, {
    partition,
    body: submission.body,
    items,
    sequence: published.sequence,
  });
}

function slicedBodies(
  published: Published,
  positionsOf: ReadonlyMap<number, readonly number[]>,
): RawRecordOf[] {
  const { events, submission } = published;
  const slices = sliceItems(submission.body);
  let sequence = published.sequence;
  const records: RawRecordOf[] = [];
  for (const [partition, positions] of positionsOf) {
    const own = positions.map((position) => eventAt(events, position));
    const body = reassemble({
      body: submission.body,
      slices,
      indices: own.map((event) => event.index),
    });
    const items = own.map((event, at) => rawItem(event, at));
    records.push({ record: logRecord(published, { partition, body, items, sequence }), positions });
    sequence += positions.length;
  }
  return records;
}

function eventAt(events: readonly AcceptedEvent[], position: number): AcceptedEvent {
  const event = events[position];
  if (!event) throw new RangeError(`there is no event at ${position}`);
  return event;
}

function rawItem(event: AcceptedEvent, at: number): RawItem {
  return {
    at,
    index: event.index,
    type: event.type,
    message_id: event.message_id,
    generated: event.generated,
    dedupe_id: null,
    timestamp: event.timestamp,
  };
}

interface Contents {
  partition: number;
  body: Buffer;
  items: RawItem[];
  sequence: number;
}

function logRecord(
  { submission, gateway }: Published,
  { partition, body, items, sequence }: Contents,
): LogRecord {
  const { principal } = submission;
  const value = rawRecordCodec.encode({
    account_id: principal.accountId,
    app_id: principal.appId,
    write_key_id: principal.writeKeyId,
    received_at: submission.receivedAt,
    source: 'sdk',
    path: submission.path,
    ip: submission.ip,
    user_agent: submission.userAgent,
    origin: submission.origin,
    trace: submission.trace,
    gateway,
    sequence,
    shape: submission.shape,
    body,
    items,
    redriven_from: null,
    delivery: null,
  });
  return {
    topic: RAW_TOPIC,
    partition,
    // The partition is chosen here and nobody reads a key; the client would hand it back as a
    // buffer with every delivery report.
    key: null,
    value,
    accountId: principal.accountId,
    events: items.length,
  };
}
