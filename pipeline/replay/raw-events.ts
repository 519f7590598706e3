import type { ClaimId } from '../../events/claims/claim-id.ts';
import type { ContextReader } from '../../events/normalise.ts';
import { acceptanceHash, gatewaySeed } from '../../events/claims/acceptance.ts';
import { decideItem } from '../../events/raw/decide.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import type { SourceRecord } from '../../events/raw/failure.ts';
import { claimOf, type EpochOf } from '../../events/raw/record-claims.ts';
import type { EventOffset } from '../../schemas/log-position.ts';
import type { EventRow } from '../../schemas/records.ts';

/** An accepted event of the raw log, normalised by this version: a row, or why there is none. */
export interface RawEvent {
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
  row: EventRow | undefined;
  /** Stable code; empty when there is a row. */
  reason: string;
}

/** The events of a raw record. `unreadable`: why the record has no known events. */
export interface RawRecordEvents {
  offset: number;
  /** Append time, ms since the epoch. */
  appendedAt: number;
  events: RawEvent[];
  unreadable: string | undefined;
}

const FIRST = { verdict: 'first' } as const;

/**
 * Normalises the events of a record of events.raw with the same rules as the normaliser, without
 * claims. The same record always gives the same rows.
 */
export function readRawEvents(
  source: SourceRecord,
  { contexts, epochOf }: { contexts: ContextReader; epochOf: EpochOf },
): RawRecordEvents {
  const decoded = decodeRecord(source);
  const { offset, partition, timestamp: appendedAt } = source;
  if (decoded.state === 'undecodable')
    return { offset, appendedAt, events: [], unreadable: decoded.failure.reason };
  const { record } = decoded;
  const { account_id: accountId, received_at: receivedAt, redriven_from: from } = record;
  const seed = gatewaySeed(record.gateway);
  const epoch = epochOf(partition, offset);
  const events: RawEvent[] = [];
  for (const [index, item] of record.items.entries()) {
    const position = { epoch, partition, offset, index };
    const acceptance = acceptanceHash(seed, record.sequence + index);
    const decision = decideItem(
      { decoded, index, position, acceptance, resolution: FIRST },
      contexts,
    );
    if (decision.kind === 'erased') continue;
    events.push({
      epoch,
      at: { offset, index },
      partition,
      accountId,
      messageId: item.message_id,
      receivedAt,
      // Hashed when it is asked for: where verdicts are known, nothing does.
      get claim() {
        return claimOf(record, item);
      },
      redrivenFrom:
        from === null
          ? undefined
          : { offset: from.offset, index: from.index + index, partition: from.partition },
      row: decision.kind === 'publish' ? decision.row : undefined,
      reason: decision.kind === 'dead' ? decision.reason : '',
    });
  }
  return { offset, appendedAt, events, unreadable: undefined };
}
