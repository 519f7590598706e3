import { accountSeed, distinctIdHash } from '../../events/partition.ts';
import type { AcceptedEvent } from '../../events/validate-event.ts';
import { ingestOutcomeCodec, rawRecordCodec } from '../../schemas/codec.ts';
import type { Delivery, OutcomeCount, RawItem } from '../../schemas/records.ts';
import { OUTCOME_TOPIC } from '../../ingest/outcome-record.ts';
import { RAW_TOPIC } from '../../ingest/raw-records.ts';
import type { LogRecord } from '../spool/spooled-record.ts';

/** An accepted event of a delivery. */
export interface MappedItem {
  event: AcceptedEvent;
  /** The event as JSON: an item of a batch. */
  json: string;
  /** Position among the events of the delivery. */
  position: number;
  /**
   * For an event without message id: an id made on acceptance, which no other event has. Null: its
   * message id is its dedupe key.
   */
  dedupeId: string | null;
}

export interface DeliveryFacts {
  accountId: number;
  appId: number;
  /** Without the token, which is a secret. */
  path: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  trace: string;
  /** Random id of the acceptor, and the acceptance number of the first event. */
  gateway: string;
  sequence: number;
  /** Of events.raw. */
  partitions: number;
  /**
   * What the platform sent, for the first record of the delivery; null when an earlier one has it.
   */
  delivery: Delivery | null;
}

/** A record with the positions in `items` of the events that it carries. */
export interface PlannedRecord {
  record: LogRecord;
  positions: readonly number[];
}

/**
 * The raw records of the events of a delivery: one for each partition that their people fall into.
 * The body is the batch of mapped events, so that a replay gives the very events that were accepted
 * whatever the mapping has become; what the platform sent stands beside it in the first record. The
 * caller is a backend: its address and User-Agent say nothing about the person and are not stored.
 */
export function planRecords(items: readonly MappedItem[], facts: DeliveryFacts): PlannedRecord[] {
  const seed = accountSeed(facts.accountId);
  const positions = items.map((_, position) => position);
  const byPartition = Map.groupBy(
    positions,
    (position) => distinctIdHash(seed, items[position]?.event.distinctId ?? '') % facts.partitions,
  );
  let { sequence, delivery } = facts;
  const planned: PlannedRecord[] = [];
  for (const [partition, own] of byPartition) {
    const group = own.flatMap((position) => items[position] ?? []);
    planned.push({
      record: recordOf(group, { ...facts, sequence, delivery, partition }),
      positions: own,
    });
    sequence += group.length;
    delivery = null;
  }
  return planned;
}

function recordOf(
  group: readonly MappedItem[],
  facts: DeliveryFacts & { partition: number },
): LogRecord {
  const { accountId, partition } = facts;
  const value = rawRecordCodec.encode({
    account_id: accountId,
    app_id: facts.appId,
    write_key_id: 0,
    received_at: facts.receivedAt,
    source: 'webhook',
    path: facts.path,
    ip: '',
    user_agent: '',
    origin: '',
    trace: facts.trace,
    gateway: facts.gateway,
    sequence: facts.sequence,
    shape: 'batch',
    body: Buffer.from(`{"batch":[${group.map(({ json }) => json).join(',')}]}`),
    items: group.map(({ event, position, dedupeId }, at): RawItem => {
      const { type, message_id, timestamp } = event;
      return {
        at,
        index: position,
        type,
        message_id,
        generated: false,
        dedupe_id: dedupeId,
        timestamp,
      };
    }),
    redriven_from: null,
    delivery: facts.delivery,
  });
  const [name, ...others] = new Set(group.map(({ event }) => event.distinctId));
  return {
    topic: RAW_TOPIC,
    partition,
    key: others.length === 0 ? `${accountId}:${name ?? ''}` : null,
    value,
    accountId,
    events: group.length,
  };
}

export interface DeliveryOutcome {
  received: number;
  accepted: number;
  duplicate: number;
  rejected: number;
  counts: OutcomeCount[];
}

/**
 * The record of what was decided besides publishing (DESIGN.md, promise 6). `sequence` counts
 * outcomes; `partitions` are those of ingest.outcomes.
 */
export function outcomeOf(
  facts: Omit<DeliveryFacts, 'delivery' | 'path' | 'trace'>,
  outcome: DeliveryOutcome,
): LogRecord {
  const { accountId, appId, gateway, sequence, receivedAt } = facts;
  const value = ingestOutcomeCodec.encode({
    gateway,
    sequence,
    account_id: accountId,
    app_id: appId,
    received_at: receivedAt,
    source: 'webhook',
    ...outcome,
  });
  return {
    topic: OUTCOME_TOPIC,
    partition: accountId % facts.partitions,
    key: String(accountId),
    value,
    accountId,
    events: 0,
  };
}
