import { accountSeed, distinctIdHash } from '../../events/partition.ts';
import type { AcceptedEvent } from '../../events/validate-event.ts';
import type { IngestOutcome, OutcomeCount, RawItem, RawRecord } from '../../schemas/records.ts';

/** One accepted event with the ids made on acceptance. */
export interface AcceptedItem {
  event: AcceptedEvent;
  /** The client's bytes of the item. */
  bytes: Buffer;
  /** The message id: the client's, or one that was made. */
  messageId: string;
  /**
   * No import is a duplicate of another (management 4.2): each acceptance has a dedupe key of its
   * own.
   */
  dedupeId: string;
}

export interface ImportFacts {
  accountId: number;
  /** ms since the epoch */
  receivedAt: number;
  trace: string;
  path: string;
  /** Random id of this process. */
  gateway: string;
  /** First acceptance number of this request. */
  sequence: number;
  partitions: number;
}

export interface PlannedRecord {
  partition: number;
  /** Account and person where all items are one person's. */
  key: string | null;
  record: RawRecord;
}

/**
 * The raw records of an import: one for each partition that its people fall into, items in the
 * order sent. The caller is a backend: its address and User-Agent say nothing about the person and
 * are not stored.
 */
export function planRecords(items: readonly AcceptedItem[], facts: ImportFacts): PlannedRecord[] {
  const seed = accountSeed(facts.accountId);
  const byPartition = Map.groupBy(
    items,
    ({ event }) => distinctIdHash(seed, event.distinctId) % facts.partitions,
  );
  let sequence = facts.sequence;
  return [...byPartition].map(([partition, group]) => {
    const record = recordOf(group, { ...facts, sequence });
    sequence += group.length;
    const [first, ...others] = new Set(group.map(({ event }) => event.distinctId));
    return { partition, key: others.length === 0 ? `${facts.accountId}:${first}` : null, record };
  });
}

function recordOf(group: readonly AcceptedItem[], facts: ImportFacts): RawRecord {
  return {
    account_id: facts.accountId,
    // A management key belongs to no app.
    app_id: 0,
    write_key_id: 0,
    received_at: facts.receivedAt,
    source: 'import',
    path: facts.path,
    ip: '',
    user_agent: '',
    origin: '',
    trace: facts.trace,
    gateway: facts.gateway,
    sequence: facts.sequence,
    shape: 'batch',
    body: batchBody(group),
    items: group.map(({ event, messageId, dedupeId }, at): RawItem => {
      const { index, type, generated, timestamp } = event;
      return { at, index, type, message_id: messageId, generated, dedupe_id: dedupeId, timestamp };
    }),
    redriven_from: null,
    delivery: null,
  };
}

function batchBody(group: readonly AcceptedItem[]): Buffer {
  const parts = group.flatMap(({ bytes }, at) => (at === 0 ? [bytes] : [Buffer.from(','), bytes]));
  return Buffer.concat([Buffer.from('{"batch":['), ...parts, Buffer.from(']}')]);
}

/** What the request counts as in the books and in ingest quality. */
export function importOutcome(
  facts: ImportFacts,
  counted: { received: number; accepted: number; rejected: number; counts: OutcomeCount[] },
): IngestOutcome {
  return {
    gateway: facts.gateway,
    sequence: facts.sequence,
    account_id: facts.accountId,
    app_id: 0,
    received_at: facts.receivedAt,
    source: 'import',
    duplicate: 0,
    ...counted,
  };
}
