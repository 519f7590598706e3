import { FAILURE_REASONS, SKIP_REASONS } from '../../events/messages/reasons.ts';
import type { MessageResult } from '../../messaging/transactional/message-result.ts';
import { answer, reject, type Answer } from '../errors/domain-error.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Services } from '../services.ts';
import {
  MARKETING,
  readMessageRequest,
  RefusedMessage,
  type MessageRequest,
} from './read-request.ts';

/** POST /v1/messages (management 4.2). 200 says what became of the message, not that it arrived. */
export async function sendMessage(
  { rawBody, headers, caller, now }: ApiRequest,
  { messages }: Services,
): Promise<Answer> {
  let request: MessageRequest;
  try {
    request = readMessageRequest(rawBody, headers['idempotency-key'] as string | undefined);
  } catch (error) {
    if (error instanceof RefusedMessage)
      return reject('message_refused', { message: error.message });
    throw error;
  }
  const sent = await messages.send({ ...request, accountId: caller.accountId, receivedAt: now });
  switch (sent.kind) {
    case 'answered':
      return answer({ ...withPersian(sent.result), replayed: sent.isReplay });
    case 'in_flight':
      return reject('message_in_flight');
    case 'marketing':
      return reject('message_refused', { message: MARKETING });
    case 'unavailable':
      return reject('message_unavailable');
  }
}

/** A result with its reason in Persian. */
export function withPersian(result: MessageResult): object {
  if (result.status === 'sent') return result;
  const reasons: Readonly<Record<string, string>> = { ...SKIP_REASONS, ...FAILURE_REASONS };
  return { ...result, reason_fa: reasons[result.reason] ?? '' };
}
