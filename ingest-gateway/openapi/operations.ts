import type { FailureCode } from '../failures.ts';
import * as webhook from '../webhooks/answers.ts';
import { WEBHOOKS_PATH } from '../webhooks/webhook-server.ts';
import { renderFailure } from '../http/render.ts';
import { LINKS_PATH } from '../links/link-server.ts';
import { SDK_PATH } from '../sdk/sdk-route.ts';
import type { Schema } from '../../platform/http/openapi.ts';
import { CHANNEL_OPERATIONS } from './channel-operations.ts';
import type { Operation } from './operation.ts';
import { TRACKING_OPERATIONS } from './tracking-operations.ts';
import { ONSITE_OPERATIONS } from './onsite-operations.ts';

const text: Schema = { type: 'string' };
const refusal = (...codes: FailureCode[]) => codes.map((code) => renderFailure({ code }));

const EVENT_REFUSALS = refusal(
  ...(['malformed_json', 'rejected', 'missing_write_key', 'invalid_write_key'] as const),
  ...([
    'quota_cancelled',
    'quota_trial_over',
    'quota_event_cap',
    'body_too_large',
    'key_unverified',
    'unavailable',
  ] as const),
);

function single(summary: string): Operation {
  return {
    summary,
    auth: 'write_key',
    request: 'Event',
    done: { status: 200, description: 'durable, or a duplicate', schema: 'EventAccepted' },
    refusals: EVENT_REFUSALS,
  };
}

/** By method and path of the route. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /v1/status': {
    summary: 'Whether the host is running',
    auth: 'none',
    done: {
      status: 200,
      description: 'it is running',
      schema: 'Status',
      headers: {
        'X-Server-Time': { type: 'string', format: 'date-time' },
        'Cache-Control': { const: 'no-store, no-cache, must-revalidate' },
      },
    },
    refusals: [],
  },
  'POST /v1/track': single('Records an action'),
  'POST /v1/identify': single('Sets traits of a person; the stored event is named identify'),
  'POST /v1/page': single('Records a page view; without a name it is page_viewed'),
  'POST /v1/screen': single('Records a screen view; without a name it is screen_viewed'),
  'POST /v1/alias': single('Joins previous_id into user_id'),
  'POST /v1/batch': {
    ...single('Accepts up to 500 typed events; an invalid one does not affect the others'),
    request: 'Batch',
    done: {
      status: 200,
      description: 'durable, or duplicates; rejected items are listed under errors',
      schema: 'BatchAccepted',
    },
  },
  ...CHANNEL_OPERATIONS,
  ...TRACKING_OPERATIONS,
  ...ONSITE_OPERATIONS,
  [`POST ${WEBHOOKS_PATH}`]: {
    summary: 'Accepts a webhook delivery of another platform',
    description:
      'The signature or shared secret of the connection is verified on the bytes of the body. Served when SEALING_KEY is set.',
    auth: 'own',
    done: { status: 200, description: 'accepted, or without events', schema: 'DeliveryAccepted' },
    refusals: [
      webhook.UNREADABLE_BODY,
      webhook.SIGNATURE_MISMATCH,
      webhook.UNAUTHORIZED,
      webhook.UNKNOWN_WEBHOOK,
      webhook.UNVERIFIED,
      webhook.UNAVAILABLE,
    ],
    path: {
      source: { ...text, description: 'The platform' },
      token: { ...text, description: 'The token of the connection' },
    },
  },
  [`GET ${LINKS_PATH}`]: {
    summary: 'Redirects a short link to its target',
    auth: 'none',
    done: {
      status: 302,
      description: 'the target',
      headers: { Location: { type: 'string', format: 'uri' } },
    },
    refusals: [],
    plain: { 404: 'no such link' },
    path: {
      code: {
        type: 'string',
        description: 'Seven characters of 0-9 and A-Z without I, L, O and U',
      },
    },
  },
  [`GET ${SDK_PATH}`]: {
    summary: 'Serves the SDK for browsers: v1.js, and what it loads on demand',
    description:
      'v1.js and worker.js are kept for minutes and have an ETag; files with a hash in their name never change. Served when SDK_DIR is set.',
    auth: 'none',
    done: {
      status: 200,
      description: 'the file, by gzip where the client accepts it; 304 when it has the file',
      type: 'text/javascript',
      headers: {
        ETag: text,
        'Cache-Control': text,
        'Access-Control-Allow-Origin': { const: '*' },
        'X-Content-Type-Options': { const: 'nosniff' },
      },
    },
    refusals: [],
    plain: { 404: 'no such file' },
    path: { file: { type: 'string', description: 'v1.js, worker.js, or NAME.RELEASE.js' } },
  },
};
