import type { FailureCode } from '../failures.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import type { Operation } from './operation.ts';

const BEFORE_ROUTE: readonly FailureCode[] = [
  ...(['malformed_json', 'missing_write_key', 'invalid_write_key', 'body_too_large'] as const),
  ...(['key_unverified', 'unavailable'] as const),
];

/** The refusals of a write-key route that accepts no events, and its own 400. */
export function channelRefusals(...texts: readonly string[]): readonly Answer[] {
  return [
    ...texts.map((message) => renderFailure({ code: 'rejected', message })),
    ...BEFORE_ROUTE.map((code) => renderFailure({ code })),
  ];
}

function change(summary: string, request: string, refusal: string): Operation {
  return {
    summary,
    description:
      'Durable on the terms of an event when it is answered 200. An id that is too long is a 400 that says so.',
    auth: 'write_key',
    request,
    done: { status: 200, description: 'durable', schema: 'Done' },
    refusals: channelRefusals(refusal),
  };
}

/** By method and path: what people can be reached by (ingest 4.2). */
export const CHANNEL_OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/devices': {
    ...change('Registers a device for push', 'Device', 'device_id is required'),
    description:
      'A device belongs to the user that registered it last, and a push token to the device that registered it last. The errors of this route are {error, warnings}. Served when PUSH_ENABLED is set.',
    done: { status: 200, description: 'durable', schema: 'DeviceRegistered' },
    refusals: channelRefusals().filter(({ status }) => status !== 400 && status !== 503),
    shapes: {
      400: {
        description: 'malformed JSON, or what is missing or too long',
        schemas: ['DeviceRefused'],
      },
      503: {
        description: 'it is not durable, or the key cannot be verified right now',
        schemas: ['DeviceRefused', 'Failure'],
      },
    },
  },
  'POST /v1/devices/unregister': change(
    'Ends the registration of a device',
    'DeviceId',
    'device_id is required',
  ),
  'POST /v1/webpush/subscribe': change(
    'Registers the push subscription of a browser',
    'WebPushSubscription',
    'user_id and a complete subscription are required',
  ),
  'POST /v1/webpush/unsubscribe': change(
    'Ends the push subscription of a browser',
    'Endpoint',
    'endpoint is required',
  ),
  'POST /v1/messenger/link': change(
    'Links a chat of a messenger to a user',
    'MessengerChat',
    'user_id, chat_id and a known platform are required',
  ),
  'POST /v1/messenger/unlink': change(
    'Unlinks a chat, or without chat_id all chats of the user on the platform',
    'MessengerUser',
    'user_id and a known platform are required',
  ),
};
