import type { LogPosition } from '../../schemas/log-position.ts';
import {
  ERASED,
  type AcceptedItem,
  type EventRow,
  type VerdictKind,
} from '../../schemas/records.ts';
import type { ClaimResolution } from '../claims/resolution.ts';
import { jsonObject } from '../json.ts';
import { normaliseEvent, type ContextReader } from '../normalise.ts';
import { MAX_RETENTION_DAYS } from '../retention.ts';
import type { DecodedRecord } from './decode-record.ts';
import type { DeadReason } from './failure.ts';

/** What happens to one accepted event. `drop`: it is in the log already, at another position. */
export type ItemDecision<Row = EventRow> =
  | { readonly kind: 'publish'; readonly row: Row }
  | { readonly kind: 'drop'; readonly why: 'repeat' | 'duplicate' }
  /** Nothing is left of the event (docs/erasure.md); it was counted before that. */
  | { readonly kind: 'erased' }
  | { readonly kind: 'dead'; readonly reason: DeadReason; readonly detail: string };

const REPEAT: ItemDecision<never> = { kind: 'drop', why: 'repeat' };
const DUPLICATE: ItemDecision<never> = { kind: 'drop', why: 'duplicate' };
const NOTHING: ItemDecision<never> = { kind: 'erased' };

export interface ItemInput {
  decoded: DecodedRecord;
  /** Index in the items of the record; in a raw batch, `position` has another. */
  index: number;
  position: LogPosition;
  acceptance: number;
  resolution: ClaimResolution;
}

/** An accepted event of a decoded record, which holds it. */
export interface ItemToNormalise extends Pick<ItemInput, 'decoded' | 'position' | 'acceptance'> {
  item: AcceptedItem;
}

/** Makes the row of an event. Pure: the same event always gives the same row, or the same error. */
export type RowMaker<Row> = (item: ItemToNormalise) => Row;

/** Makes whole rows. */
export function wholeRows(contexts: ContextReader): RowMaker<EventRow> {
  return ({ decoded, item, position, acceptance }) => {
    const { record, batchContext } = decoded;
    const envelope = jsonObject(decoded.envelope(item.at)) ?? {};
    return normaliseEvent({ record, item, envelope, batchContext, position, acceptance }, contexts);
  };
}

/**
 * Decides one event. A replay is published again: the attempt that claimed it may have crashed
 * before it published, and consumers skip positions they have processed. Normalisation is pure, so
 * an error it throws is a property of the event: the event is dead, and the partition moves on.
 */
export function decideItem<Row>(input: ItemInput, makeRow: RowMaker<Row>): ItemDecision<Row> {
  const { decoded, index, resolution } = input;
  const item = decoded.record.items[index];
  if (item?.type === ERASED) return NOTHING;
  switch (resolution.verdict) {
    case 'repeat':
      return REPEAT;
    case 'duplicate':
      return DUPLICATE;
    case 'first':
    case 'replay':
      return normaliseItem(input, makeRow);
    case 'passed': {
      // A row here would be skipped; another event with this id becomes one.
      const decision = normaliseItem(input, makeRow);
      return decision.kind === 'publish' ? DUPLICATE : decision;
    }
  }
}

function normaliseItem<Row>(
  { decoded, index, position, acceptance }: ItemInput,
  makeRow: RowMaker<Row>,
): ItemDecision<Row> {
  const item = decoded.record.items[index];
  if (item === undefined || item.type === ERASED)
    throw new Error(`the record has no item ${index}`);
  if (!decoded.hasEvent(item.at))
    return {
      kind: 'dead',
      reason: 'item_missing',
      detail: `the body holds no event at position ${item.at}`,
    };
  try {
    return { kind: 'publish', row: makeRow({ decoded, item, position, acceptance }) };
  } catch (error) {
    return {
      kind: 'dead',
      reason: 'not_normalisable',
      detail: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    };
  }
}

/** `replayed`: published again; an earlier attempt may have published it already. */
export type Outcome = 'published' | 'replayed' | 'duplicate' | 'repeat' | 'dead' | 'erased';

export function outcomeOf(decision: ItemDecision<unknown>, resolution: ClaimResolution): Outcome {
  switch (decision.kind) {
    case 'publish':
      return resolution.verdict === 'replay' ? 'replayed' : 'published';
    case 'drop':
      return decision.why;
    case 'dead':
    case 'erased':
      return decision.kind;
  }
}

/**
 * Verdict of an event that will not be a row; undefined for one that will, and for an erased one:
 * its events were counted as stored before they were erased. `now` in ms.
 */
export function verdictOf(
  decision: ItemDecision<Pick<EventRow, 'timestamp'>>,
  now: number,
): VerdictKind | undefined {
  switch (decision.kind) {
    case 'publish':
      return isExpired(decision.row, now) ? 'expired' : undefined;
    case 'drop':
      return decision.why;
    case 'dead':
      return 'dead';
    case 'erased':
      return undefined;
  }
}

const MAX_AGE_MS = MAX_RETENTION_DAYS * 86_400_000;

/** ClickHouse drops such a row on insert (ingest 2.4). */
function isExpired(row: Pick<EventRow, 'timestamp'>, now: number): boolean {
  return row.timestamp + MAX_AGE_MS <= now;
}
