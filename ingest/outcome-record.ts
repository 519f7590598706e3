import { ingestOutcomeCodec } from '../schemas/codec.ts';
import type { OutcomeCount } from '../schemas/records.ts';
import type { LogRecord } from '../ingest-gateway/spool/spooled-record.ts';
import type { Submission } from './submission.ts';
import { TOPIC } from '../schemas/topology.ts';

export const OUTCOME_TOPIC = TOPIC.outcomes;

export interface OutcomeFacts {
  received: number;
  /** Published or spooled: without duplicates. */
  accepted: number;
  duplicate: number;
  rejected: number;
  counts: OutcomeCount[];
}

/**
 * The record of what the gateway decided besides publishing (DESIGN.md, promise 6). It is made for
 * requests with rejects, warnings or duplicates; what a clean request carried is told by its raw
 * records.
 */
export function outcomeRecord(
  submission: Submission,
  facts: OutcomeFacts,
  made: { gateway: string; sequence: number; partitions: number },
): LogRecord {
  const { accountId, appId } = submission.principal;
  const value = ingestOutcomeCodec.encode({
    gateway: made.gateway,
    sequence: made.sequence,
    account_id: accountId,
    app_id: appId,
    received_at: submission.receivedAt,
    source: 'sdk',
    ...facts,
  });
  return {
    topic: OUTCOME_TOPIC,
    partition: accountId % made.partitions,
    key: String(accountId),
    value,
    accountId,
    events: 0,
  };
}
