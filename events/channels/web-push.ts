import { jsonObject, type JsonObject } from '../json.ts';
import { objectField } from '../validate-event.ts';
import { channelChange, type ChannelChange } from './channel-change.ts';
import { optionalId, optionalText, RefusedChange, withinBytes } from './fields.ts';

const INCOMPLETE = 'user_id and a complete subscription are required';
const MAX_ENDPOINT_BYTES = 2048;

/** RFC 8291: an uncompressed point of P-256, and 16 random bytes. */
const P256DH = { bytes: 65, first: 0x04 };
const AUTH = { bytes: 16 };

/**
 * Reads the body of POST /v1/webpush/subscribe. Throws RefusedChange with the text for the client,
 * and MalformedEnvelope for a field of another JSON type.
 */
export function readSubscription(body: JsonObject): ChannelChange {
  const userId = optionalId(body, 'user_id');
  const subscription = objectField(body, 'subscription');
  const keys = jsonObject(subscription?.['keys']);
  if (userId === '' || !subscription || !keys) throw new RefusedChange(INCOMPLETE);
  const endpoint = optionalText(subscription, 'endpoint');
  const p256dh = optionalText(keys, 'p256dh');
  const auth = optionalText(keys, 'auth');
  if (endpoint === '' || p256dh === '' || auth === '') throw new RefusedChange(INCOMPLETE);
  return channelChange({
    ...{ kind: 'web_push_subscribed', channel: 'web', user_id: userId },
    address_id: pushEndpoint(endpoint),
    web_push: {
      p256dh: browserKey(p256dh, 'p256dh', P256DH),
      auth: browserKey(auth, 'auth', AUTH),
    },
  });
}

/** Reads the body of POST /v1/webpush/unsubscribe. Throws as `readSubscription`. */
export function readUnsubscription(body: JsonObject): ChannelChange {
  const endpoint = optionalText(body, 'endpoint');
  if (endpoint === '') throw new RefusedChange('endpoint is required');
  return channelChange({
    ...{ kind: 'web_push_unsubscribed', channel: 'web' },
    address_id: withinBytes(endpoint, { field: 'endpoint', bytes: MAX_ENDPOINT_BYTES }),
  });
}

/** As sent: it names the subscription. Where it leads is checked when a message is sent. */
function pushEndpoint(endpoint: string): string {
  withinBytes(endpoint, { field: 'subscription.endpoint', bytes: MAX_ENDPOINT_BYTES });
  const url = URL.parse(endpoint);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new RefusedChange('subscription.endpoint must be an https URL');
  return endpoint;
}

/** Browsers write base64url; some libraries write base64. Stored as base64url without padding. */
function browserKey(
  sent: string,
  name: string,
  { bytes, first }: { bytes: number; first?: number },
): string {
  const isText = sent.length <= 128 && /^[A-Za-z0-9+/_-]+={0,2}$/.test(sent);
  const key = Buffer.from(isText ? sent : '', 'base64');
  if (key.length !== bytes || (first !== undefined && key[0] !== first))
    throw new RefusedChange(`subscription.keys.${name} must be ${bytes} bytes as base64url`);
  return key.toString('base64url');
}
