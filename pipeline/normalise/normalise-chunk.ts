import type { ClaimResolution, ClaimToResolve } from '../../events/claims/resolution.ts';
import {
  decideItem,
  outcomeOf,
  verdictOf,
  type ItemDecision,
  type Outcome,
} from '../../events/raw/decide.ts';
import type {
  DecodedRecord,
  DecodeResult,
  UndecodableRecord,
} from '../../events/raw/decode-record.ts';
import {
  allItemsOf,
  firstIndexOf,
  type DeadReason,
  type Failure,
  type SourceRecord,
} from '../../events/raw/failure.ts';
import type { EncodedRow } from '../../events/raw/encode-item.ts';
import type { DeadLetter, EventRow, Verdict } from '../../schemas/records.ts';
import { deadLetterOf } from '../dead-letters/dead-letter.ts';
import type { BuiltRowBatch } from './row-batch-builder.ts';
import type { RowTools } from './row-tools.ts';

const STAGE = 'normalise';

/** Consecutive records of a partition, published all together or not at all. */
export interface Chunk {
  records: readonly DecodeResult[];
  /** One per item of every decodable record, in order. */
  claims: readonly ClaimToResolve[];
  resolutions: readonly ClaimResolution[];
}

export type OutcomeCounts = Record<Outcome, number>;

/** What a chunk publishes. */
export interface NormalisedChunk {
  rowBatches: readonly BuiltRowBatch[];
  deadLetters: readonly DeadLetter[];
  /** Accepted events that will not be a row in ClickHouse, ordered by position. */
  verdicts: readonly Verdict[];
  counts: OutcomeCounts;
  /** Events, and how many of them are dead; a record without a known count counts as one. */
  processed: number;
  dead: number;
}

/** A row of either form. */
type Row = EventRow | EncodedRow;

interface Tools extends RowTools {
  /** ms since the epoch. */
  now: number;
}

/** Splits a batch between records of Kafka, into chunks of about `maxEvents` events. */
export function splitIntoChunks(batch: Chunk, maxEvents: number): Chunk[] {
  const chunks: Chunk[] = [];
  let firstRecord = 0;
  let firstClaim = 0;
  let claim = 0;
  const endBefore = (record: number) => {
    if (record === firstRecord) return;
    chunks.push({
      records: batch.records.slice(firstRecord, record),
      claims: batch.claims.slice(firstClaim, claim),
      resolutions: batch.resolutions.slice(firstClaim, claim),
    });
    firstRecord = record;
    firstClaim = claim;
  };
  for (const [at, result] of batch.records.entries()) {
    const items = result.state === 'decoded' ? result.record.items.length : 0;
    const isOther = result.source.offset !== batch.records[at - 1]?.source.offset;
    if (isOther && claim - firstClaim + items > maxEvents) endBefore(at);
    claim += items;
  }
  endBefore(batch.records.length);
  return chunks;
}

/** Decides every event of a chunk and encodes what is to be published. */
export function normaliseChunk(chunk: Chunk, tools: Tools): NormalisedChunk {
  const deadLetters: DeadLetter[] = [];
  const verdicts: Verdict[] = [];
  const counts: OutcomeCounts = {
    ...{ published: 0, replayed: 0, duplicate: 0, repeat: 0, dead: 0, erased: 0 },
  };
  let processed = 0;
  let uncountable = 0;
  let claim = 0;
  const sendToDeadLetter = (record: SourceRecord, failure: Failure) =>
    deadLetters.push(deadLetterOf({ stage: STAGE, failure, record, failedAt: tools.now }));
  for (const decoded of chunk.records) {
    if (decoded.state === 'undecodable') {
      sendToDeadLetter(decoded.source, decoded.failure);
      const { events } = decoded.failure;
      processed += Math.max(1, events);
      counts.dead += events;
      if (events === 0) uncountable++;
      verdicts.push(...deadVerdicts(decoded));
      continue;
    }
    const { record, source } = decoded;
    processed += record.items.length;
    const failures: Failure[] = [];
    for (let index = 0; index < record.items.length; index++, claim++) {
      const { position, acceptance } = required(chunk.claims[claim]);
      const resolution = required(chunk.resolutions[claim]);
      const decision = addToRowBatch(
        decideItem({ decoded, index, position, acceptance, resolution }, tools.makeRow),
        source,
        tools,
      );
      if (decision.kind === 'dead')
        failures.push({ ...failureOf(decoded, index, decision), index: position.index });
      counts[outcomeOf(decision, resolution)]++;
      const verdict = verdictOf(decision, tools.now);
      if (verdict)
        verdicts.push({
          offset: source.offset,
          index: position.index,
          account_id: record.account_id,
          received_at: record.received_at,
          verdict,
        });
    }
    for (const failure of mergeFailures(decoded, failures)) sendToDeadLetter(source, failure);
  }
  return {
    rowBatches: tools.rowBatches.finish(),
    deadLetters,
    verdicts,
    counts,
    processed,
    dead: counts.dead + uncountable,
  };
}

function deadVerdicts({ source, failure, receivedAt }: UndecodableRecord): Verdict[] {
  const { accountId, events } = failure;
  if (accountId === null) return [];
  const { offset } = source;
  const first = firstIndexOf(source);
  return Array.from({ length: events }, (_, at) => ({
    offset,
    index: first + at,
    account_id: accountId,
    received_at: receivedAt,
    verdict: 'dead',
  }));
}

/** Encodes the row of a published event; an event whose row cannot be encoded is dead. */
function addToRowBatch(
  decision: ItemDecision<Row>,
  source: SourceRecord,
  { rowBatches }: Tools,
): ItemDecision<Row> {
  if (decision.kind !== 'publish') return decision;
  try {
    if (rowBatches.add(decision.row, source.timestamp) === 'added') return decision;
    return {
      kind: 'dead',
      reason: 'row_too_large',
      detail: 'the row is larger than a record of the log may be',
    };
  } catch (error) {
    return {
      kind: 'dead',
      reason: 'not_normalisable',
      detail: `the row does not fit its schema: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function failureOf(
  { record }: DecodedRecord,
  index: number,
  { reason, detail }: { reason: DeadReason; detail: string },
): Omit<Failure, 'index'> {
  return {
    reason,
    detail,
    events: 1,
    accountId: record.account_id,
    messageId: record.items[index]?.message_id ?? '',
  };
}

/**
 * A dead letter contains the whole record: the events of a record that fail for the same reason
 * have one dead letter together. So a record has at most as many as there are reasons.
 */
function mergeFailures(
  { record, source }: DecodedRecord,
  failures: readonly Failure[],
): readonly Failure[] {
  if (failures.length < 2) return failures;
  return [...Map.groupBy(failures, ({ reason }) => reason).values()].flatMap((some): Failure[] => {
    const [first] = some;
    if (first === undefined || some.length === 1) return some;
    const events = some.length;
    if (events === record.items.length)
      return [{ ...first, ...allItemsOf(source), events, messageId: '' }];
    return [{ ...first, indexes: some.flatMap(({ index }) => index ?? []), events }];
  });
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('fewer claims were resolved than the batch has events');
  return value;
}
