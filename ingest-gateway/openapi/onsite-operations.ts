import { QUOTA_SENTENCES } from '../../events/quota.ts';
import { INBOX_PATH } from '../inbox/inbox-route.ts';
import { ONSITE_PATHS } from '../onsite/onsite-routes.ts';
import { renderFailure } from '../http/render.ts';
import { channelRefusals } from './channel-operations.ts';
import type { Operation } from './operation.ts';

const visitor = { type: 'string', description: 'Of the visitor; at most 256 bytes' };
const quota = Object.keys(QUOTA_SENTENCES) as (keyof typeof QUOTA_SENTENCES)[];

/** By method and path: the inbox and on-site campaigns (ingest 4.2). */
export const ONSITE_OPERATIONS: Readonly<Record<string, Operation>> = {
  [`POST ${INBOX_PATH}`]: {
    summary: 'Reads the inbox of a signed-in user, newest first',
    description:
      "user_hash is hex HMAC-SHA256 of user_id under the app's inbox secret; user_token is a JWT (HS256) under it with sub = user_id, aud = the app's id and exp at most 24 hours ahead. Entries that a request marks as read are read in its own answer, and durable as events are. The errors of this route are {error}.",
    auth: 'write_key',
    request: 'InboxRequest',
    done: { status: 200, description: 'the entries', schema: 'Inbox' },
    refusals: channelRefusals().filter(({ status }) => status !== 400 && status !== 503),
    shapes: {
      400: { description: 'user_id is required, or what is wrong', schemas: ['InboxRefused'] },
      403: { description: 'user identity is not verified', schemas: ['InboxRefused'] },
      503: {
        description: 'the inbox cannot be read, or the key cannot be verified right now',
        schemas: ['InboxRefused', 'Failure'],
      },
    },
  },
  [`GET ${ONSITE_PATHS.list}`]: {
    summary: 'Lists the on-site campaigns for a page and a visitor',
    description:
      'At most 100. Of several url conditions any one suffices. A campaign of frequency once or session is left out for ids that it was shown to. The list is empty when nothing could ever be read.',
    auth: 'write_key',
    query: {
      url: { type: 'string', description: 'Of the page, compared literally' },
      ...{ user_id: visitor, anonymous_id: visitor },
    },
    done: {
      status: 200,
      description: 'the campaigns',
      schema: 'OnsiteCampaigns',
      headers: { 'Cache-Control': { const: 'no-store' } },
    },
    refusals: channelRefusals().filter(({ status }) => status === 401 || status === 503),
  },
  [`POST ${ONSITE_PATHS.event}`]: {
    summary: 'Records what a visitor did with an on-site campaign',
    description:
      'The event is onsite_shown, onsite_clicked, onsite_dismissed or onsite_submitted. Answers 200 also when the campaign is unknown, which stores nothing, and when the write failed.',
    auth: 'write_key',
    request: 'OnsiteEvent',
    done: { status: 200, description: 'received', schema: 'Done' },
    refusals: channelRefusals('campaign_id and a visitor id are required', 'unknown action'),
  },
  [`POST ${ONSITE_PATHS.response}`]: {
    summary: 'Records the answers to a survey or form',
    description:
      'The event is onsite_submitted with each answer as a property. A number may be sent as a text.',
    auth: 'write_key',
    request: 'OnsiteResponse',
    done: { status: 200, description: 'durable', schema: 'Done' },
    refusals: [
      ...channelRefusals('unknown campaign', 'what is wrong with a field, by its name'),
      ...quota.map((code) => renderFailure({ code })),
    ],
  },
};
