import { campaignMessageId } from '../../../events/messages/message-id.ts';
import { quotaMonth } from '../../../events/tehran-time.ts';
import { frameOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { MessageChunk, MessageOutcome } from '../../../schemas/records.ts';
import type { ChunkWrite, OutcomeCount } from '../store/chunk-row.ts';
import type { OutcomeFacts, RecipientOutcome } from './ports.ts';

/** The changes of the balance and of the meters (ingest 8). */
export function countOutcomes(
  outcomes: readonly RecipientOutcome[],
  finishedAt: number,
): Pick<ChunkWrite, 'counts' | 'meters'> {
  const counts = new Map<string, OutcomeCount>();
  let sent = 0;
  for (const { status, reason } of outcomes) {
    const key = `${status} ${reason}`;
    const known = counts.get(key);
    if (known) known.messages++;
    else counts.set(key, { status, reason, messages: 1 });
    if (status === 'sent') sent++;
  }
  const month = sent > 0 ? quotaMonth(finishedAt).key : '';
  return { counts: [...counts.values()], meters: sent > 0 ? [{ month, messages: sent }] : [] };
}

/** As message_outbox holds them. */
export function encodeOutcomes(
  outcomes: readonly RecipientOutcome[],
  of: { chunk: MessageChunk; channel: string; finishedAt: number; facts: OutcomeFacts },
): Buffer {
  const { chunk, channel, finishedAt, facts } = of;
  const { account_id, campaign_id, run_id, planned_at } = chunk;
  // One object for all: it is made with every message otherwise.
  const record: MessageOutcome = {
    ...{ account_id, campaign_id, run_id, planned_at, channel, category: facts.category },
    ...{ template_id: facts.templateId, template_version: facts.templateVersion },
    ...{ message_id: '', person_id: '', user_id: '', address_hash: '', provider: '' },
    ...{ status: '', reason: '', provider_message_id: '', finished_at: finishedAt, attempts: 0 },
  };
  const records: Buffer[] = [];
  for (const outcome of outcomes) {
    const recipient = chunk.recipients[outcome.index];
    if (!recipient) continue;
    const { key } = recipient;
    record.message_id = campaignMessageId({ campaignId: campaign_id, runId: run_id, key });
    record.person_id = recipient.person_id;
    record.user_id = recipient.user_id;
    record.address_hash = outcome.addressHash;
    record.status = outcome.status;
    record.reason = outcome.reason;
    record.provider = outcome.provider;
    record.provider_message_id = outcome.providerMessageId;
    record.attempts = outcome.attempts;
    records.push(messageOutcomeCodec.encode(record));
  }
  return frameOutcomes(records);
}
