import { MESSENGERS } from '../../events/channels/channel-change.ts';
import type { Schema } from '../../platform/http/openapi.ts';

const text: Schema = { type: 'string' };
const id: Schema = { type: 'string', maxLength: 256, description: 'At most 256 bytes' };
const object = (required: readonly string[], properties: Record<string, Schema>): Schema => ({
  ...{ type: 'object', required, properties },
});
const chat = {
  user_id: id,
  platform: { enum: MESSENGERS },
  chat_id: { type: ['string', 'integer'], description: 'A number is kept as its text' },
};

/** The bodies of the routes that change by what people can be reached. */
export const channelSchemas: Readonly<Record<string, Schema>> = {
  Done: object(['status'], { status: { const: 'ok' } }),
  Device: object(['device_id', 'platform', 'push_token'], {
    device_id: id,
    user_id: { ...id, description: 'This or anonymous_id is required' },
    anonymous_id: id,
    platform: { enum: ['android', 'ios', 'web', 'huawei'] },
    push_token: { ...text, description: 'At most 4096 bytes' },
    push_provider: {
      ...{ enum: ['fcm', 'apns', 'hms'] },
      description: 'By default that of the platform: fcm, apns of ios, hms of huawei',
    },
    ...{ app_version: text, os_version: text, model: text, locale: text, timezone: text },
  }),
  DeviceRegistered: object(['status', 'warnings'], {
    status: { const: 'ok' },
    warnings: {
      type: 'array',
      items: object(['code', 'field'], {
        code: { enum: ['truncated', 'unknown_push_provider'] },
        field: text,
      }),
    },
  }),
  DeviceRefused: object(['error', 'warnings'], {
    error: text,
    warnings: { type: 'array', maxItems: 0 },
    status: { const: 'error', description: 'Only of a body that is not JSON' },
    message: { ...text, description: 'As status' },
  }),
  DeviceId: object(['device_id'], { device_id: id }),
  WebPushSubscription: object(['user_id', 'subscription'], {
    user_id: id,
    subscription: object(['endpoint', 'keys'], {
      endpoint: { type: 'string', format: 'uri', description: 'At most 2048 bytes' },
      keys: object(['p256dh', 'auth'], { p256dh: text, auth: text }),
    }),
  }),
  Endpoint: object(['endpoint'], { endpoint: { type: 'string', format: 'uri' } }),
  MessengerChat: object(['user_id', 'platform', 'chat_id'], chat),
  MessengerUser: object(['user_id', 'platform'], chat),
};
