import { campaignMessageId } from '../../../events/messages/message-id.ts';
import { quotaMonth } from '../../../events/tehran-time.ts';
import { frameOutcomes } from '../../../messaging/outcomes/outcome-frames.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
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
  const records: Buffer[] = [];
  for (const outcome of outcomes) {
    const recipient = chunk.recipients[outcome.index];
    if (!recipient) continue;
    const { account_id, campaign_id, run_id, planned_at } = chunk;
    const record = messageOutcomeCodec.encode({
      ...{ account_id, campaign_id, run_id, planned_at },
      message_id: campaignMessageId({
        ...{ campaignId: campaign_id, runId: run_id, key: recipient.key },
      }),
      template_id: facts.templateId,
      template_version: facts.templateVersion,
      ...{ channel, category: facts.category },
      ...{ person_id: recipient.person_id, user_id: recipient.user_id },
      address_hash: outcome.addressHash,
      ...{ status: outcome.status, reason: outcome.reason },
      provider: outcome.provider,
      provider_message_id: outcome.providerMessageId,
      ...{ finished_at: finishedAt, attempts: outcome.attempts },
    });
    records.push(record);
  }
  return frameOutcomes(records);
}
