import { expect } from 'vitest';
import { post } from '../client.ts';
import { readyStack } from '../stack.ts';

/** A subscription as a browser sends it. */
export interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export interface Addresses {
  email: string;
  phone: string;
  /** By push service. */
  devices: Partial<Record<'fcm' | 'apns', string>>;
  subscription: Subscription;
  /** By messenger. */
  chats: Record<'bale' | 'eitaa' | 'rubika', string>;
}

/** Makes a person reachable on every channel, as apps and sites do: at the gateway. */
export async function registerPerson(
  writeKey: string,
  userId: string,
  { email, phone, devices, subscription, chats }: Addresses,
): Promise<void> {
  const send = async (path: string, body: object) => {
    const answer = await post(`${readyStack().ingest_url}${path}`, writeKey, {
      ...{ user_id: userId, ...body },
    });
    expect([path, answer.status, answer.body]).toMatchObject([path, 200, { status: 'ok' }]);
  };
  await send('/v1/identify', { traits: { email, phone, first_name: 'نرگس' } });
  for (const [push_provider, push_token] of Object.entries(devices))
    await send('/v1/devices', {
      ...{ device_id: `${push_provider} of ${userId}`, push_provider, push_token },
      platform: push_provider === 'apns' ? 'ios' : 'android',
    });
  await send('/v1/webpush/subscribe', { subscription });
  for (const [platform, chat_id] of Object.entries(chats))
    await send('/v1/messenger/link', { platform, chat_id });
}
