import type { ClaimId } from '../../events/claims/claim-id.ts';
import { acceptanceHash, gatewaySeed } from '../../events/claims/acceptance.ts';
import { decideItem, type ItemDecision, type RowMaker } from '../../events/raw/decide.ts';
import { decodeRecords, type DecodedRecord } from '../../events/raw/decode-record.ts';
import { firstIndexOf, type SourceRecord } from '../../events/raw/failure.ts';
import { claimOf, type EpochOf } from '../../events/raw/record-claims.ts';
import type { EventOffset, LogPosition } from '../../schemas/log-position.ts';
import type { RawFacts } from '../../schemas/raw-reader.ts';
import type { EventRow, RawItem, VerdictKind } from '../../schemas/records.ts';

/** An accepted event of the raw log, normalised by this version: a row, or why there is none. */
export interface RawEvent<Row = EventRow> {
  /** Epoch of its raw partition at its offset. */
  epoch: number;
  at: EventOffset;
  partition: number;
  accountId: number;
  messageId: string;
  /** ms since the epoch */
  receivedAt: number;
  /** The claim of its dedupe key, as the normaliser resolves it. */
  claim: ClaimId;
  /** Original position of a redriven dead letter. */
  redrivenFrom: (EventOffset & { partition: number }) | undefined;
  row: Row | undefined;
  /** Stable code; empty when there is a row. */
  reason: string;
  /** What the pipeline recorded for the position: for those who read its verdicts to fill in. */
  verdict: VerdictKind | undefined;
  /** Whether verdicts cover the position: without one its row was published. */
  verdictsKnown: boolean;
}

/** The events of a record of events.raw. `unreadable`: why it has events that are not known. */
export interface RawRecordEvents<Row> {
  offset: number;
  /** Append time, ms since the epoch. */
  appendedAt: number;
  events: RawEvent<Row>[];
  unreadable: string | undefined;
}

const FIRST = { verdict: 'first' } as const;

/** A class, because an accessor in an object literal makes each object fifteen times as slow. */
class AcceptedEvent<Row> implements RawEvent<Row> {
  readonly epoch: number;
  readonly at: EventOffset;
  readonly partition: number;
  readonly accountId: number;
  readonly messageId: string;
  readonly receivedAt: number;
  readonly redrivenFrom: RawEvent['redrivenFrom'];
  readonly row: Row | undefined;
  readonly reason: string;
  verdict: VerdictKind | undefined = undefined;
  verdictsKnown = false;
  readonly #dedupeId: string | null;

  constructor({
    record,
    index: at,
    item,
    decision,
    position: { epoch, partition, offset, index },
  }: {
    record: RawFacts;
    /** Among the items of the record; in a batch, the position has another one. */
    index: number;
    item: RawItem;
    decision: ItemDecision<Row>;
    position: LogPosition;
  }) {
    const { redriven_from: from } = record;
    this.epoch = epoch;
    this.at = { offset, index };
    this.partition = partition;
    this.accountId = record.account_id;
    this.messageId = item.message_id;
    this.receivedAt = record.received_at;
    this.redrivenFrom =
      from === null
        ? undefined
        : { offset: from.offset, index: from.index + at, partition: from.partition };
    this.row = decision.kind === 'publish' ? decision.row : undefined;
    this.reason = decision.kind === 'dead' ? decision.reason : '';
    this.#dedupeId = item.dedupe_id;
  }

  /** Hashed when it is asked for: where verdicts are known, nothing does. */
  get claim(): ClaimId {
    const { accountId, messageId } = this;
    return claimOf({ account_id: accountId }, { message_id: messageId, dedupe_id: this.#dedupeId });
  }
}

/**
 * Normalises the events of a record of events.raw with the same rules as the normaliser, without
 * claims. The same record always gives the same rows.
 */
export function readRawEvents<Row>(
  source: SourceRecord,
  how: { makeRow: RowMaker<Row>; epochOf: EpochOf },
): RawRecordEvents<Row> {
  const { offset, timestamp: appendedAt } = source;
  const events: RawEvent<Row>[] = [];
  let unreadable: string | undefined;
  for (const decoded of decodeRecords(source)) {
    if (decoded.state === 'undecodable') unreadable ??= decoded.failure.reason;
    else addEvents(decoded, { ...how, events });
  }
  return { offset, appendedAt, events, unreadable };
}

function addEvents<Row>(
  decoded: DecodedRecord,
  to: { makeRow: RowMaker<Row>; epochOf: EpochOf; events: RawEvent<Row>[] },
): void {
  const { record, source } = decoded;
  const { partition, offset } = source;
  const seed = gatewaySeed(record.gateway);
  const epoch = to.epochOf(partition, offset);
  const firstIndex = firstIndexOf(source);
  for (const [index, item] of record.items.entries()) {
    const position = { epoch, partition, offset, index: firstIndex + index };
    const acceptance = acceptanceHash(seed, record.sequence + index);
    const decision = decideItem(
      { decoded, index, position, acceptance, resolution: FIRST },
      to.makeRow,
    );
    if (decision.kind === 'erased') continue;
    to.events.push(new AcceptedEvent({ record, index, item, decision, position }));
  }
}
