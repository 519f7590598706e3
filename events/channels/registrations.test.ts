import { describe, expect, it } from 'vitest';
import { MalformedEnvelope } from '../validate-event.ts';
import { readDevice, readUnregister } from './device.ts';
import { RefusedChange } from './fields.ts';
import { readLink, readUnlink } from './messenger.ts';
import { readSubscription, readUnsubscription } from './web-push.ts';

const device = { device_id: 'd', user_id: 'u', platform: 'android', push_token: 't' };
const point = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 7)]).toString('base64url');
const auth = Buffer.alloc(16, 9).toString('base64url');
const keys = { p256dh: point, auth };
const endpoint = 'https://push.example/abc';

function textOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof RefusedChange) return error.message;
    if (error instanceof MalformedEnvelope) return 'malformed';
    throw error;
  }
  return 'accepted';
}

describe('a device', () => {
  it('is registered for a user or an anonymous visitor', () => {
    expect(readDevice(device)).toMatchObject({
      change: {
        kind: 'device_registered',
        channel: 'push',
        user_id: 'u',
        address_id: 'd',
        device: { platform: 'android', push_token: 't', push_provider: 'fcm', model: '' },
      },
      warnings: [],
    });
    const anonymous = { ...device, user_id: undefined };
    expect(readDevice({ ...anonymous, anonymous_id: 'a' }).change).toMatchObject({
      user_id: '',
      anonymous_id: 'a',
    });
  });

  it('has the push service of its platform unless it names a known one', () => {
    const providerOf = (sent: object) =>
      readDevice({ ...device, ...sent }).change.device?.push_provider;
    expect(providerOf({ platform: 'ios' })).toBe('apns');
    expect(providerOf({ platform: 'huawei' })).toBe('hms');
    expect(providerOf({ platform: 'huawei', push_provider: 'fcm' })).toBe('fcm');
    expect(readDevice({ ...device, push_provider: 'x' }).warnings).toEqual([
      { code: 'unknown_push_provider', field: 'push_provider' },
    ]);
  });

  it('keeps the bounds of its description, and says which field was cut', () => {
    const { change, warnings } = readDevice({ ...device, model: 'م'.repeat(100), os_version: '1' });
    expect(Buffer.byteLength(change.device?.model ?? '')).toBe(128);
    expect(warnings).toEqual([{ code: 'truncated', field: 'model' }]);
  });

  it.each([
    [{ device_id: '' }, 'device_id is required'],
    [{ device_id: undefined }, 'device_id is required'],
    [{ device_id: 'd'.repeat(257) }, 'device_id is too long: at most 256 bytes'],
    [{ user_id: 'ش'.repeat(129) }, 'user_id is too long: at most 256 bytes'],
    [{ user_id: null }, 'user_id or anonymous_id is required'],
    [{ platform: 'symbian' }, 'platform must be android, ios, web or huawei'],
    [{ platform: 'constructor' }, 'platform must be android, ios, web or huawei'],
    [{ push_token: '' }, 'push_token is required'],
    [{ push_token: 't'.repeat(4097) }, 'push_token is too long: at most 4096 bytes'],
    [{ push_token: 5 }, 'malformed'],
    [{ locale: {} }, 'malformed'],
    [{ push_token: 't'.repeat(4096) }, 'accepted'],
  ])('is refused with a text that names the field: %j', (sent, text) => {
    expect(textOf(() => readDevice({ ...device, ...sent }))).toBe(text);
  });

  it('is unregistered by its id alone', () => {
    expect(readUnregister({ device_id: 'd' })).toMatchObject({
      kind: 'device_unregistered',
      address_id: 'd',
      user_id: '',
    });
    expect(textOf(() => readUnregister({}))).toBe('device_id is required');
    expect(textOf(() => readUnregister({ device_id: 'd'.repeat(257) }))).toMatch(/too long/);
  });
});

describe('a subscription of a browser', () => {
  it('holds the keys as base64url, however they were written', () => {
    const base64 = Buffer.from(point, 'base64url').toString('base64');
    expect(
      readSubscription({
        user_id: 'u',
        subscription: { endpoint, keys: { auth, p256dh: base64 } },
      }),
    ).toMatchObject({ address_id: endpoint, web_push: keys, user_id: 'u', channel: 'web' });
  });

  it.each([
    [{}, /^user_id and a complete subscription are required$/],
    [{ user_id: 'u' }, /complete subscription/],
    [{ user_id: 'u', subscription: { endpoint } }, /complete subscription/],
    [{ user_id: 'u', subscription: { endpoint, keys: { auth } } }, /complete subscription/],
    [{ subscription: { endpoint, keys } }, /complete subscription/],
    [{ user_id: 'u', subscription: { endpoint: 'ftp://x', keys } }, /must be an https URL/],
    [
      { user_id: 'u', subscription: { endpoint, keys: { ...keys, auth: 'AA' } } },
      /^subscription.keys.auth must be 16 bytes/,
    ],
    [
      { user_id: 'u', subscription: { endpoint, keys: { auth, p256dh: 'C'.repeat(87) } } },
      /^subscription.keys.p256dh must be 65 bytes/,
    ],
    [{ user_id: 'u', subscription: 'x' }, /^malformed$/],
  ])('is refused: %j', (body, text) => {
    expect(textOf(() => readSubscription(body))).toMatch(text);
  });

  it('ends by its endpoint alone', () => {
    expect(readUnsubscription({ endpoint })).toMatchObject({ address_id: endpoint });
    expect(textOf(() => readUnsubscription({}))).toBe('endpoint is required');
  });
});

describe('a chat of a messenger', () => {
  it('is linked by a number or a text, which are the same chat', () => {
    const link = { user_id: 'u', platform: 'bale', chat_id: 4_503_599_627_370_497 };
    expect(readLink(link)).toMatchObject({ channel: 'bale', address_id: '4503599627370497' });
    expect(readLink({ ...link, chat_id: '4503599627370497' })).toEqual(readLink(link));
  });

  it('is unlinked alone, or with all of the user on the platform', () => {
    expect(readUnlink({ user_id: 'u', platform: 'eitaa' })).toMatchObject({ address_id: '' });
    expect(readUnlink({ user_id: 'u', platform: 'eitaa', chat_id: 7 })).toMatchObject({
      address_id: '7',
    });
  });

  it.each([
    [{ user_id: 'u', platform: 'telegram', chat_id: '1' }],
    [{ user_id: 'u', platform: 'bale' }],
    [{ platform: 'bale', chat_id: '1' }],
  ])('is refused without a user, a chat and a known platform: %j', (body) => {
    expect(textOf(() => readLink(body))).toBe('user_id, chat_id and a known platform are required');
  });

  it('is refused when its number is not exact or its id is too long', () => {
    const link = { user_id: 'u', platform: 'bale' };
    expect(textOf(() => readLink({ ...link, chat_id: 2 ** 53 }))).toMatch(/send it as a string/);
    expect(textOf(() => readLink({ ...link, chat_id: 'c'.repeat(257) }))).toMatch(/too long/);
    expect(textOf(() => readUnlink({ user_id: 'u' }))).toBe(
      'user_id and a known platform are required',
    );
  });
});
