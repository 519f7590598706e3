import Type from 'typebox';
import { CHANNELS } from '../../events/channels/channel-change.ts';
import type { FailureReason, SkipReason } from '../../events/messages/reasons.ts';
import { BODY, TIMEOUT } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import { sendMessage } from './handlers.ts';
import { MAX_VARIABLES } from './read-request.ts';

const MessageDraft = Type.Object(
  {
    user_id: Type.String({ minLength: 1 }),
    template_id: Type.Integer({ minimum: 1 }),
    idempotency_key: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._:-]{8,200}$',
        description: 'Or the header Idempotency-Key. Results are replayed for 7 days.',
      }),
    ),
    channel: Type.Unsafe<string>({ enum: [...CHANNELS] }),
    category: Type.Optional(
      Type.Unsafe<string>({ enum: ['transactional', 'service'], default: 'transactional' }),
    ),
    vars: Type.Optional(
      Type.Unsafe<object>({
        type: 'object',
        maxProperties: MAX_VARIABLES,
        description: 'Variables `vars.*` of the template',
      }),
    ),
  },
  { $id: 'MessageDraft', additionalProperties: false },
);

/** Why a message is skipped or has failed; those of campaigns are left out. */
const REASONS: readonly (SkipReason | FailureReason)[] = [
  ...(['unknown_template', 'channel_not_configured', 'no_address', 'suppressed'] as const),
  ...(['rejected_by_provider', 'dead_address', 'too_large', 'render_failed'] as const),
  'outcome_unknown',
];

const Message = Type.Object(
  {
    message_id: Type.String({ description: '`t<account>.<idempotency key>`' }),
    status: Type.Unsafe<string>({ enum: ['sent', 'skipped', 'failed'] }),
    channel: Type.Unsafe<string>({ enum: [...CHANNELS] }),
    replayed: Type.Boolean({ description: 'The result of an earlier request with the key' }),
    reason: Type.Optional(Type.Unsafe<string>({ enum: [...REASONS] })),
    reason_fa: Type.Optional(Type.String()),
  },
  { $id: 'Message' },
);

export const messageRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/messages',
    summary: 'Send one message, once for its idempotency key',
    auth: 'key',
    permission: 'campaign.send',
    cost: 1,
    lock: false,
    features: ['transactional'],
    bodyLimit: BODY.message,
    bodyAs: 'bytes',
    malformed: { code: 'message_refused', message: 'malformed JSON: the body exceeds 256 KiB' },
    flat: ['message_refused', 'message_in_flight', 'message_rate_exceeded', 'message_unavailable'],
    coded: [],
    timeout: TIMEOUT.most,
    schemas: { request: MessageDraft, response: Message, status: 200 },
    admit: ({ caller, now }, { messages }) => messages.checkRate(caller, now),
    handler: sendMessage,
  },
];
