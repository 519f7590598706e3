import { connectConsentLag } from '../../../messaging/recipients/consent-lag.ts';
import { parseMessageId } from '../../../events/messages/message-id.ts';
import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../../platform/postgres/pool.ts';
import type { OperatorContext } from '../../operator-context.ts';
import type { Answer } from '../findings.ts';
import { explainMessage, unknownMessage } from './explain-message.ts';
import { accountOf, type SenderPhase } from './facts.ts';
import { gatherMessage } from './gather-message.ts';

interface FollowSources {
  operator: OperatorContext;
  database: Database;
  clickhouse: ClickHouseClient;
}

interface Question {
  messageId: string;
  /** Undefined: the id names it, or its campaign does. */
  accountId: number | undefined;
  now: number;
}

/**
 * Follows a message of a campaign or of POST /v1/messages. `unknown`: why there is no such message
 * (of the account); undefined: the id is none of a message.
 */
export async function followMessage(
  { operator, database, clickhouse }: FollowSources,
  { messageId, accountId, now }: Question,
): Promise<{ accountId: number; answer: Answer } | { unknown: string } | undefined> {
  const id = parseMessageId(messageId);
  if (!id) return undefined;
  const { settings, log } = operator;
  const consents = connectConsentLag({ settings, name: 'ravand-why', log, now: Date.now });
  const sources = {
    ...{ database, clickhouse },
    obstacles: {
      consentLag: () => consents.read(),
      senderPhase: (account: number, channel: string) => phaseOf(operator, { account, channel }),
    },
  };
  try {
    const evidence = await gatherMessage(sources, { messageId, id, now, accountId });
    const unknown = unknownMessage(evidence);
    if (unknown !== undefined) return { unknown };
    const owner = accountOf(evidence);
    if (accountId !== undefined && owner !== undefined && accountId !== owner)
      return { unknown: `message ${messageId} belongs to account ${owner}, not to ${accountId}` };
    return { accountId: owner ?? accountId ?? 0, answer: explainMessage(evidence) };
  } finally {
    await consents.close();
  }
}

async function phaseOf(
  { adminUrls }: OperatorContext,
  { account, channel }: { account: number; channel: string },
): Promise<SenderPhase | undefined> {
  const url = adminUrls.get('dispatcher');
  if (url === undefined)
    throw new Error('its admin address is not known outside the stack of one machine');
  const response = await fetch(`${url}/senders?account=${account}&channel=${channel}`, {
    signal: AbortSignal.timeout(3000),
  });
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  return ((await response.json()) as { sender?: SenderPhase }).sender;
}
