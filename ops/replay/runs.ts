import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import { rowBatchCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { SourceEvent } from './source.ts';

/**
 * The rows of a record of events.normalised as events of the log: they were published, so no
 * verdict stands against them. Undefined when it cannot be read.
 */
export function readRun(value: Buffer | null): SourceEvent[] | undefined {
  try {
    return value === null ? undefined : rowBatchCodec.decode(value).rows.map(eventOfRow);
  } catch (error) {
    if (error instanceof UnreadableRecord) return undefined;
    throw error;
  }
}

function eventOfRow(row: EventRow): SourceEvent {
  const key = row._dedupe_id === '' ? row.message_id : row._dedupe_id;
  return {
    at: { offset: row._offset, index: row._index },
    partition: row._partition,
    accountId: row.account_id,
    messageId: row.message_id,
    receivedAt: row.received_at,
    claim: claimId(
      claimScope(row.account_id, row._dedupe_id === '' ? 'message' : 'acceptance'),
      key,
    ),
    redrivenFrom: undefined,
    row,
    reason: '',
    said: undefined,
    covered: true,
  };
}
