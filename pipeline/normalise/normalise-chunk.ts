import type { ClaimToResolve, ClaimResolution } from '../../events/claims/resolution.ts';
import type { ContextReader } from '../../events/normalise.ts';
import type { DeadLetter, Verdict } from '../../schemas/records.ts';
import { deadLetterOf } from '../dead-letters/dead-letter.ts';
import { type DeadReason, type SourceRecord, type Failure } from '../../events/raw/failure.ts';
import { decideItem, type ItemDecision } from '../../events/raw/decide.ts';
import type {
  UndecodableRecord,
  DecodedRecord,
  DecodeResult,
} from '../../events/raw/decode-record.ts';
import type { BuiltRowBatch, RowBatchBuilder } from './row-batch-builder.ts';
import { noOutcomes, outcomeOf, verdictOf, type OutcomeCounts } from './tally.ts';

export const STAGE = 'normalise';

/** Consecutive records of a partition: all or nothing of them is published. */
export interface Chunk {
  records: readonly DecodeResult[];
  /** For every item of every record that could be read, in order. */
  claims: readonly ClaimToResolve[];
  resolutions: readonly ClaimResolution[];
}

/** What a part puts into the log. */
export interface NormalisedChunk {
  rowBatches: readonly BuiltRowBatch[];
  deadLetters: readonly DeadLetter[];
  /**
   * What the books need to know: every event that was accepted and will be no row in ClickHouse, in
   * the order of places.
   */
  verdicts: readonly Verdict[];
  counts: OutcomeCounts;
  /**
   * Events in it, and how many of them are dead; a record that could not be read counts as one at
   * least.
   */
  processed: number;
  dead: number;
}

interface Tools {
  runs: RowBatchBuilder;
  contexts: ContextReader;
  /** ms since the epoch. */
  now: number;
}

/** Cuts a batch into parts of about `events` events, between records. */
export function splitIntoChunks(batch: Chunk, events: number): Chunk[] {
  const parts: Chunk[] = [];
  let firstReading = 0;
  let firstEntry = 0;
  let entry = 0;
  const cut = (reading: number) => {
    if (reading === firstReading) return;
    parts.push({
      records: batch.records.slice(firstReading, reading),
      claims: batch.claims.slice(firstEntry, entry),
      resolutions: batch.resolutions.slice(firstEntry, entry),
    });
    firstReading = reading;
    firstEntry = entry;
  };
  for (const [at, reading] of batch.records.entries()) {
    const items = reading.state === 'read' ? reading.record.items.length : 0;
    if (entry - firstEntry + items > events) cut(at);
    entry += items;
  }
  cut(batch.records.length);
  return parts;
}

/** Decides every event of a part and encodes what is to be published. */
export function normaliseChunk(part: Chunk, tools: Tools): NormalisedChunk {
  const letters: DeadLetter[] = [];
  const verdicts: Verdict[] = [];
  const tally = noOutcomes();
  let taken = 0;
  let unread = 0;
  let entry = 0;
  const bury = (record: SourceRecord, failure: Failure) =>
    letters.push(deadLetterOf({ stage: STAGE, failure, record, failedAt: tools.now }));
  for (const reading of part.records) {
    if (reading.state === 'dead') {
      bury(reading.source, reading.failure);
      const { events } = reading.failure;
      taken += Math.max(1, events);
      tally.dead += events;
      if (events === 0) unread++;
      verdicts.push(...deadVerdicts(reading));
      continue;
    }
    const { record, source } = reading;
    taken += record.items.length;
    const failures: Failure[] = [];
    for (let index = 0; index < record.items.length; index++, entry++) {
      const { position: place, acceptance } = expect(part.claims[entry]);
      const settlement = expect(part.resolutions[entry]);
      const step = encoded(
        decideItem(
          { decoded: reading, index, position: place, acceptance, resolution: settlement },
          tools.contexts,
        ),
        source,
        tools,
      );
      if (step.step === 'dead') failures.push(failureOf(reading, index, step));
      tally[outcomeOf(step, settlement)]++;
      const verdict = verdictOf(step, tools.now);
      if (verdict)
        verdicts.push({
          offset: source.offset,
          index,
          account_id: record.account_id,
          received_at: record.received_at,
          verdict,
        });
    }
    for (const failure of together(reading, failures)) bury(source, failure);
  }
  return {
    rowBatches: tools.runs.finish(),
    deadLetters: letters,
    verdicts,
    counts: tally,
    processed: taken,
    dead: tally.dead + unread,
  };
}

function deadVerdicts({ source, failure, receivedAt }: UndecodableRecord): Verdict[] {
  const { accountId, events } = failure;
  if (accountId === null) return [];
  const { offset } = source;
  return Array.from({ length: events }, (_, index) => ({
    offset,
    index,
    account_id: accountId,
    received_at: receivedAt,
    verdict: 'dead',
  }));
}

/** Encodes the row of an event that is ok; one that cannot be encoded is dead. */
function encoded(step: ItemDecision, source: SourceRecord, { runs }: Tools): ItemDecision {
  if (step.step !== 'ok') return step;
  try {
    if (runs.add(step.row, source.timestamp) === 'added') return step;
    return {
      step: 'dead',
      reason: 'row_too_large',
      detail: 'the row is larger than a record of the log may be',
    };
  } catch (error) {
    return {
      step: 'dead',
      reason: 'not_normalisable',
      detail: `the row does not fit its schema: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function failureOf(
  { record }: DecodedRecord,
  index: number,
  why: { reason: DeadReason; detail: string },
): Failure {
  const { reason, detail } = why;
  return {
    reason,
    detail,
    index,
    events: 1,
    accountId: record.account_id,
    messageId: record.items[index]?.message_id ?? '',
  };
}

/**
 * Each letter holds the whole record: when all of its events died of one reason, one letter stands
 * for them all.
 */
function together({ record }: DecodedRecord, failures: readonly Failure[]): readonly Failure[] {
  const [first] = failures;
  const isWhole =
    first !== undefined && failures.length > 1 && failures.length === record.items.length;
  if (!isWhole || failures.some(({ reason }) => reason !== first.reason)) return failures;
  return [{ ...first, index: null, events: failures.length, messageId: '' }];
}

function expect<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the claims settled fewer events than the batch holds');
  return value;
}
