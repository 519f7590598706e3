import { encodeIngestOutcome } from '../schemas/ingest-outcome-versions.ts';
import type { OutcomeCount, SdkBalance } from '../schemas/records.ts';
import type { LogRecord } from './log-record.ts';
import { TOPIC } from '../schemas/topology.ts';
import type { RequestFacts } from './request.ts';

/** What became of the events of a request, by number. */
export interface EventCounts {
  received: number;
  /** Published or spooled, without duplicates. */
  accepted: number;
  duplicate: number;
  rejected: number;
}

/**
 * The record of rejects, warnings and duplicates (ARCHITECTURE.md, G6), and of the balance of an
 * SDK. A request without any of them has none: its raw records say everything.
 */
export function outcomeRecord(
  request: RequestFacts,
  outcome: EventCounts & { counts: OutcomeCount[]; balance: SdkBalance | null },
  writer: { gateway: string; sequence: number; partitions: number },
): LogRecord {
  const { accountId, appId } = request.principal;
  const value = encodeIngestOutcome({
    gateway: writer.gateway,
    sequence: writer.sequence,
    account_id: accountId,
    app_id: appId,
    received_at: request.receivedAt,
    source: request.source,
    ...outcome,
  });
  return {
    topic: TOPIC.outcomes,
    partition: accountId % writer.partitions,
    key: String(accountId),
    value,
    accountId,
    events: 0,
  };
}
