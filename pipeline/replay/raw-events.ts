import type { ClaimId } from '../../events/claims/claim-id.ts';
import type { ContextReader } from '../../events/normalise.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { SourceRecord } from '../../events/raw/failure.ts';
import { claimsToResolve } from '../../events/raw/record-claims.ts';
import { CURRENT_EPOCH } from '../../schemas/log-position.ts';
import { decideItem } from '../../events/raw/decide.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import type { EventOffset } from '../../schemas/log-position.ts';

/**
 * One accepted event of the raw log as today's normalisation sees it: a row, or the reason why
 * there is none.
 */
export interface RawEvent {
  at: EventOffset;
  partition: number;
  accountId: number;
  messageId: string;
  /** ms since the epoch */
  receivedAt: number;
  /** Of the dedupe key: the claim that the pipeline settles. */
  claim: ClaimId;
  /** The old place that a redriven dead letter names. */
  redrivenFrom: (EventOffset & { partition: number }) | undefined;
  row: EventRow | undefined;
  /** Stable code; empty where there is a row. */
  reason: string;
}

/** What a raw record holds. `unreadable`: no event of it can be named, for this reason. */
export interface RawRecordEvents {
  offset: number;
  /** When the log took it, ms since the epoch. */
  appendedAt: number;
  events: RawEvent[];
  unreadable: string | undefined;
}

const FIRST = { verdict: 'first' } as const;

/**
 * The events of a record of events.raw, by the normaliser's own pure steps and without any claim:
 * the same record gives the same rows at any time.
 */
export function readRawEvents(source: SourceRecord, contexts: ContextReader): RawRecordEvents {
  const reading = decodeRecord(source);
  const { offset, partition, timestamp: appendedAt } = source;
  if (reading.state === 'dead')
    return { offset, appendedAt, events: [], unreadable: reading.failure.reason };
  const { record } = reading;
  const events = claimsToResolve([reading], CURRENT_EPOCH).map((entry, index): RawEvent => {
    const step = decideItem(
      {
        decoded: reading,
        index,
        position: entry.position,
        acceptance: entry.acceptance,
        resolution: FIRST,
      },
      contexts,
    );
    const from = entry.redrivenFrom;
    return {
      at: { offset, index },
      partition,
      accountId: record.account_id,
      messageId: record.items[index]?.message_id ?? '',
      receivedAt: record.received_at,
      claim: entry.id,
      redrivenFrom: from && { offset: from.offset, index: from.index, partition: from.partition },
      row: step.step === 'ok' ? step.row : undefined,
      reason: step.step === 'dead' ? step.reason : '',
    };
  });
  return { offset, appendedAt, events, unreadable: undefined };
}
