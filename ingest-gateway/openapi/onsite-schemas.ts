import { FIELD_TYPES, FREQUENCIES, ONSITE_KINDS } from '../../events/channels/onsite/definition.ts';
import { ACTIONS } from '../../events/channels/onsite/interaction.ts';
import type { Schema } from '../../platform/http/openapi.ts';

const text: Schema = { type: 'string' };
const id: Schema = { type: 'string', maxLength: 256, description: 'At most 256 bytes' };
const object = (required: readonly string[], properties: Record<string, Schema>): Schema => ({
  ...{ type: 'object', required, properties },
});
const list = (items: Schema): Schema => ({ type: 'array', items });

const interaction = {
  campaign_id: { type: ['integer', 'string'] },
  user_id: { ...id, description: 'This or anonymous_id is required' },
  anonymous_id: id,
  message_id: { ...id, description: 'Deduplicated like that of an event' },
};

/** The bodies of the inbox and of on-site campaigns. */
export const onsiteSchemas: Readonly<Record<string, Schema>> = {
  InboxRequest: object(['user_id'], {
    user_id: id,
    user_hash: { ...text, description: 'This or user_token is required' },
    user_token: text,
    limit: { type: 'integer', minimum: 0, default: 20, description: 'At most 100 are answered' },
    before: { ...text, description: 'The id of an entry: only older ones are answered' },
    read: { ...list(text), maxItems: 1000, description: 'Ids of entries that were read' },
    read_all: { type: 'boolean', default: false },
  }),
  Inbox: object(['messages', 'unread'], {
    messages: list(
      object(['id', 'title', 'body', 'created_at', 'read'], {
        ...{ id: text, title: text, body: text, url: { type: 'string', format: 'uri' } },
        data: { type: 'object' },
        created_at: { type: 'string', format: 'date-time' },
        read: { type: 'boolean' },
      }),
    ),
    unread: { type: 'integer', description: 'Of all entries, not only of those answered' },
  }),
  InboxRefused: object(['error'], {
    error: text,
    status: { const: 'error', description: 'Only of a body that is not JSON' },
    message: { ...text, description: 'As status' },
  }),
  OnsiteCampaigns: object(['campaigns'], {
    campaigns: list(
      object(['id', 'kind', 'content', 'frequency'], {
        id: { type: 'integer' },
        kind: { enum: ONSITE_KINDS },
        content: { description: 'As the operator defined it' },
        fields: list(
          object(['name', 'type', 'required'], {
            ...{ name: text, type: { enum: FIELD_TYPES }, required: { type: 'boolean' } },
            options: list(text),
          }),
        ),
        frequency: { enum: FREQUENCIES },
      }),
    ),
  }),
  OnsiteEvent: object(['campaign_id', 'action'], { ...interaction, action: { enum: ACTIONS } }),
  OnsiteResponse: object(['campaign_id', 'answers'], {
    ...interaction,
    answers: {
      type: 'object',
      description: 'By field; at most 8192 bytes of JSON together',
      additionalProperties: { type: ['string', 'number', 'null'] },
    },
  }),
};
