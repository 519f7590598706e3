import { randomBytes } from 'node:crypto';
import { channelChange, type ChannelChange } from '../../../events/channels/channel-change.ts';
import { readDevice, readUnregister } from '../../../events/channels/device.ts';
import { readLink, readUnlink } from '../../../events/channels/messenger.ts';
import { readSubscription, readUnsubscription } from '../../../events/channels/web-push.ts';
import type { JsonObject } from '../../../events/json.ts';
import { post } from '../client.ts';
import { sleep } from '../stack.ts';

/** One request: what it asks for, and when it was sent and answered. */
export interface SentChange {
  trace: string;
  change: ChannelChange;
  /** ms of the process. */
  sentAt: number;
  /** When 200 was answered; undefined: it may or may not have been accepted. */
  answeredAt: number | undefined;
}

export interface RegistrationLoad {
  /** Ends the traffic after the requests in flight. */
  stop(): Promise<RegistrationReport>;
}

export interface RegistrationReport {
  sent: SentChange[];
  /** Answers other than 200 and 503: a fault on our side must never cause one (G4). */
  refusals: string[];
  perSecond: number;
}

interface LoadOptions {
  /** Of the ingest host. */
  url: string;
  writeKey: string;
  /** The paths of the users' preference centres, by user. */
  preferences: ReadonlyMap<string, string>;
  perSecond: number;
}

interface Request {
  path: string;
  body: JsonObject | string;
  change: ChannelChange;
}

/** Clients that send at the same time, each one request after the other. */
const CLIENTS = 40;
const MESSENGERS = ['bale', 'eitaa', 'rubika'];
const KEYS = {
  p256dh: Buffer.concat([Buffer.of(4), Buffer.alloc(64, 7)]).toString('base64url'),
  auth: Buffer.alloc(16, 9).toString('base64url'),
};

/**
 * Registers, moves and ends addresses and changes consents. Users, devices, tokens, chats and
 * endpoints are so few that each moves often. Nothing is sent again: what was not answered 200 may
 * have been accepted or not.
 */
export function startRegistrations(options: LoadOptions): RegistrationLoad {
  const sent: SentChange[] = [];
  const refusals: string[] = [];
  const beganAt = performance.now();
  let running = true;
  const clients = Array.from({ length: CLIENTS }, async () => {
    const every = (CLIENTS * 1000) / options.perSecond;
    let at = performance.now() + Math.random() * every;
    while (running) {
      await sleep(Math.max(0, at - performance.now()));
      at = Math.max(at + every, performance.now() - every);
      const { path, body, change } = drawRequest(options.preferences);
      const trace = randomBytes(8).toString('hex');
      const one: SentChange = { trace, change, sentAt: performance.now(), answeredAt: undefined };
      sent.push(one);
      const status = await statusOf(`${options.url}${path}`, { ...options, body, trace });
      if (status === 200) one.answeredAt = performance.now();
      else if (status !== 503 && status !== 0) refusals.push(`${path} answered ${status}`);
    }
  });
  return {
    async stop() {
      running = false;
      const seconds = (performance.now() - beganAt) / 1000;
      const perSecond = Math.round(sent.length / seconds);
      await Promise.all(clients);
      return { sent, refusals, perSecond };
    },
  };
}

/** 0: there was no answer. */
async function statusOf(
  url: string,
  { writeKey, body, trace }: { writeKey: string; body: JsonObject | string; trace: string },
): Promise<number> {
  try {
    return (await post(url, writeKey, body, { 'X-Service-Trace': trace })).status;
  } catch {
    return 0;
  }
}

function drawRequest(preferences: ReadonlyMap<string, string>): Request {
  const user_id = pick([...preferences.keys()]);
  const device_id = `device-${below(60)}`;
  const endpoint = `https://push.example/${below(20)}`;
  const platform = pick(MESSENGERS);
  const chat_id = String(below(15));
  const request = (path: string, body: JsonObject, read: (body: JsonObject) => ChannelChange) => ({
    ...{ path, body, change: read(body) },
  });
  const kind = below(100);
  if (kind < 40)
    return request(
      '/v1/devices',
      {
        ...{ device_id, platform: 'android', push_token: `token-${below(25)}` },
        ...(below(5) === 0 ? { anonymous_id: `anonymous-${below(10)}` } : { user_id }),
      },
      (body) => readDevice(body).change,
    );
  if (kind < 50) return request('/v1/devices/unregister', { device_id }, readUnregister);
  if (kind < 65) {
    const subscription = { endpoint, keys: KEYS };
    return request('/v1/webpush/subscribe', { user_id, subscription }, readSubscription);
  }
  if (kind < 70) return request('/v1/webpush/unsubscribe', { endpoint }, readUnsubscription);
  if (kind < 85) return request('/v1/messenger/link', { user_id, platform, chat_id }, readLink);
  if (kind < 90) {
    const chat = below(2) === 0 ? { chat_id } : {};
    return request('/v1/messenger/unlink', { user_id, platform, ...chat }, readUnlink);
  }
  return consentRequest(user_id, preferences.get(user_id) ?? '');
}

/** A form of the preference centre that shows one channel, and is always one change. */
function consentRequest(user_id: string, path: string): Request {
  const state = pick(['subscribed', 'unsubscribed']);
  const before = state === 'subscribed' ? 'unsubscribed' : 'subscribed';
  return {
    path,
    body: `shown=email:${before}${state === 'subscribed' ? '&on=email' : ''}`,
    change: channelChange({
      ...{ kind: 'consent_changed', channel: 'email', user_id },
      consent: { state, text_version: '', ip: '', user_agent: '' },
    }),
  };
}

function below(n: number): number {
  return Math.floor(Math.random() * n);
}

function pick<T>(values: readonly T[]): T {
  return values[below(values.length)] as T;
}
