import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import { messageOutcomeCodec } from '../../../schemas/codec.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';

/** An outcome with defaults for all that a test does not care about: of run 5 of campaign 3. */
export function outcome(more: Partial<MessageOutcome> = {}): MessageOutcome {
  const { campaign_id = 3, run_id = 5, person_id = 'sara' } = more;
  const key = personKey(person_id);
  return {
    ...{
      account_id: 1,
      message_id: campaignMessageId({ campaignId: campaign_id, runId: run_id, key }),
    },
    ...{ campaign_id, run_id, template_id: 7, template_version: 2, channel: 'email' },
    ...{ category: 'marketing', person_id, user_id: person_id, address_hash: 'ab', status: 'sent' },
    ...{ reason: '', provider: 'smtp', provider_message_id: '<1@x>', attempts: 1 },
    ...{ planned_at: Date.UTC(2026, 10, 20), finished_at: Date.UTC(2026, 10, 20, 1), ...more },
  };
}

/** Records of a partition from an offset on; a text is no outcome. */
export function outcomeRecords(
  sent: readonly (MessageOutcome | string)[],
  { partition = 0, from = 0 } = {},
): ConsumedMessage[] {
  return sent.map((one, at) => {
    const value = typeof one === 'string' ? Buffer.from(one) : messageOutcomeCodec.encode(one);
    const place = { topic: TOPIC.messagesOutcomes, partition, offset: from + at };
    return { ...place, timestamp: 0, key: null, value, size: value.length };
  });
}
