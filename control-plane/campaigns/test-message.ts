import { withPersian } from '../../account-api/messages/handlers.ts';
import {
  readMessageRequest,
  RefusedMessage,
  type MessageRequest,
} from '../../account-api/messages/read-request.ts';
import { isJsonObject } from '../../events/json.ts';
import { testMessageKey, transactionalMessageId } from '../../events/messages/message-id.ts';
import { TemplateStore } from '../../messaging/templates/template-store.ts';
import type { TemplateVersion } from '../../messaging/templates/template.ts';
import type { TransactionalAnswer } from '../../messaging/transactional/ports.ts';
import { auditedChange } from '../../platform/audited-change.ts';
import { numericPathId } from '../../platform/http/path-id.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';

/** Of an account, in a calendar minute. */
export const TESTS_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/**
 * POST /v1/templates/{id}/test: sends the newest version of a template to one person, whatever its
 * category, once for its key (docs/messages.md, Send a test message).
 */
export async function sendTestMessage(request: MemberRequest, services: Services): Promise<Answer> {
  const { caller, params, body, now } = request;
  const { accountId, memberId } = actorOf(caller);
  const templateId = numericPathId(params['id']);
  if (templateId === undefined) return refuse('bad_id');
  return await orUnavailable({ request, services, code: 'test_message' }, async () => {
    const template = await new TemplateStore(services.database).newest(templateId);
    if (template?.accountId !== accountId) return refuse('not_found');
    let test: MessageRequest;
    try {
      test = readTest(body, template);
    } catch (error) {
      if (error instanceof RefusedMessage)
        return refuse('invalid_request', { message: error.message });
      throw error;
    }
    const minute = `test_messages:${accountId}:${Math.floor(now / MINUTE_MS)}`;
    if ((await services.countInMinute(minute, 1)) > TESTS_PER_MINUTE)
      return refuse('too_many_requests', { message: TOO_MANY, retryAfter: 60 });
    const idempotencyKey = testMessageKey(test.idempotencyKey);
    await audit(services, {
      ...{ accountId, idempotencyKey, actor: `member:${memberId}` },
      ...{ template_id: templateId, channel: template.channel },
    });
    const { category } = template;
    return answerSent(
      await services.messages.send({
        ...test,
        ...{ accountId, idempotencyKey, category, receivedAt: now },
      }),
    );
  });
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const TOO_MANY = `an account sends at most ${TESTS_PER_MINUTE} test messages in a minute`;

/** Reads the body by the rules of POST /v1/messages; throws RefusedMessage. */
function readTest(
  body: unknown,
  { templateId, channel }: Pick<TemplateVersion, 'templateId' | 'channel'>,
): MessageRequest {
  if (!isJsonObject(body)) throw new RefusedMessage('the body is not an object');
  const { user_id, idempotency_key, vars, ...others } = body;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw new RefusedMessage(`unknown field ${JSON.stringify(unknown)}`);
  // The key is in the id of the message, which audit lines keep after an erasure.
  if (typeof idempotency_key === 'string' && !UUID.test(idempotency_key))
    throw new RefusedMessage('idempotency_key must be a UUID: make one for each test');
  const asked = { user_id, idempotency_key, vars, template_id: templateId, channel };
  return readMessageRequest(Buffer.from(JSON.stringify(asked)), undefined);
}

/**
 * One line before anything is sent; none when the key is in use, or has its answer. The recipient
 * stands in the message, which erasures remove, and not in the line, which they do not.
 */
async function audit(
  { database }: Pick<Services, 'database'>,
  {
    accountId,
    idempotencyKey,
    actor,
    ...details
  }: {
    accountId: number;
    idempotencyKey: string;
    actor: string;
    template_id: number;
    channel: string;
  },
): Promise<void> {
  const messageId = transactionalMessageId({ accountId, idempotencyKey });
  await auditedChange(database, {
    statement: `SELECT $1::bigint AS account_id, jsonb_build_object('message_id', $3::text) AS audit WHERE NOT EXISTS
      (SELECT FROM transactional_messages WHERE account_id = $1 AND idempotency_key = $2)`,
    values: [accountId, idempotencyKey, messageId],
    ...{ actor, action: 'message_template.tested', details },
  });
}

function answerSent(sent: TransactionalAnswer): Answer {
  switch (sent.kind) {
    case 'answered':
      return answer({ ...withPersian(sent.result), replayed: sent.isReplay });
    case 'in_flight':
      return refuse('message_in_flight', { retryAfter: 1 });
    case 'marketing':
    case 'unavailable':
      return refuse('unavailable', { message: NOT_SENT });
  }
}

const NOT_SENT =
  'nothing was sent: the sender of the channel, or what it needs to know of the person, is unavailable; try again';
