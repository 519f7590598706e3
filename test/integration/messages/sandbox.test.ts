import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Channel } from '../../../events/channels/channel-change.ts';
import { call } from '../../contract/management/host.ts';
import { adminWithInput } from '../../support/admin-input.ts';
import {
  registerPerson,
  type Addresses,
  type Subscription,
} from '../../support/messages/reachable-person.ts';
import { Aborted, eventually, readyStack } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';

/** As the sandbox lists it (docs/sandbox.md). */
interface Listed {
  channel: Channel;
  provider: string;
  to: string;
  received_at: string;
}

const database = openPostgres();
const RUN = randomBytes(4).toString('hex');
const USER = `sandbox-${RUN}`;
const PHONE = `0912${String(1_000_000 + (Number.parseInt(RUN, 16) % 8_000_000))}`;
const URL_OF_SHOP = 'https://shop.example/o';
let addresses: Addresses;

async function sandbox<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(`${readyStack().sandbox_url}${path}`, init);
  expect([path, answer.ok]).toEqual([path, true]);
  return (await answer.json()) as Answer;
}

const listed = async (query: Record<string, string>) =>
  (await sandbox<{ messages: Listed[] }>(`/messages?${new URLSearchParams(query).toString()}`))
    .messages;

beforeAll(async () => {
  const subscription = await sandbox<Subscription>('/webpush/subscriptions', { method: 'POST' });
  const chat = `${Number.parseInt(RUN, 16)}`;
  addresses = {
    ...{ email: `${USER}@example.ir`, phone: PHONE, subscription },
    devices: { fcm: `token-of-${USER}`, apns: randomBytes(32).toString('hex') },
    chats: { bale: `1${chat}`, eitaa: `2${chat}`, rubika: `b0${USER}` },
  };
  await registerPerson(readyStack().demo.write_key, USER, addresses);
});

/** Asks until the person is known on the channel: registrations become visible after a moment. */
async function sendMessage(channel: Channel, content: object): Promise<Record<string, unknown>> {
  const { demo } = readyStack();
  const { template_id } = await adminWithInput<{ template_id: number }>(
    { name: `sandbox ${channel}`, channel, category: 'transactional', ...content },
    ...['template', 'create', '--account', String(demo.account_id)],
  );
  const message = { user_id: USER, channel, template_id, vars: { code: '۱۲۳' } };
  return await eventually({ ms: 60_000, every: 1000, waitingFor: channel }, async () => {
    const body = { ...message, idempotency_key: randomUUID() };
    const answer = await call('POST', '/v1/messages', { key: demo.management_keys.admin, body });
    const sent = answer.body as Record<string, unknown>;
    if (answer.status !== 200) throw new Error(answer.text);
    if (sent['status'] === 'failed') throw new Aborted(answer.text);
    return sent['reason'] === 'no_address' ? undefined : sent;
  });
}

const WORDS = { text: 'سلام {{ user.first_name }}، کد {{ vars.code }}' };
const TEXT = 'سلام نرگس، کد ۱۲۳';

interface Sent {
  channel: Exclude<Channel, 'inapp'>;
  content: object;
  to: (of: Addresses) => string;
  shown: (id: string) => object;
}

const linked = (id: string) => `${URL_OF_SHOP}?sg_mid=${id}`;

/** What is sent on each channel, and how the sandbox shows it. */
const SENT: Sent[] = [
  {
    channel: 'email',
    content: { ...WORDS, subject: 'سفارش', html: '<p>سلام <b>{{ user.first_name }}</b></p>' },
    to: ({ email }) => email,
    shown: () => ({
      ...{ provider: 'smtp', subject: 'سفارش', title: '' },
      text: expect.stringContaining(TEXT) as string,
      html: expect.stringMatching(/dir="rtl".*سلام <b>نرگس<\/b>/s) as string,
      headers: { 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' },
      data: { envelope_from: expect.stringMatching(/^.+@bounce\.shop\.example$/) as string },
    }),
  },
  {
    channel: 'sms',
    content: WORDS,
    to: () => `98${PHONE.slice(1)}`,
    shown: () => ({ provider: 'kavenegar', text: TEXT, data: { sender: '10004346' } }),
  },
  {
    channel: 'push',
    content: { ...WORDS, title: 'سفارش', url: URL_OF_SHOP, data: { order: '7' } },
    to: ({ devices }) => devices.fcm ?? '',
    shown: (id) => ({
      ...{ provider: 'fcm', title: 'سفارش', text: TEXT },
      data: { order: '7', url: linked(id), sg_mid: id },
    }),
  },
  {
    channel: 'web',
    content: { ...WORDS, title: 'سفارش', url: URL_OF_SHOP },
    to: ({ subscription }) => subscription.endpoint,
    shown: (id) => ({
      ...{ provider: 'webpush', title: 'سفارش', text: TEXT },
      ...{ data: { url: linked(id), sg_mid: id }, headers: { 'content-encoding': 'aes128gcm' } },
    }),
  },
  ...(['bale', 'eitaa', 'rubika'] as const).map((channel) => ({
    ...{ channel, content: { text: `${WORDS.text} _و_ [x]` } },
    to: ({ chats }: Addresses) => chats[channel],
    shown: () => ({ provider: channel, text: `${TEXT} _و_ [x]` }),
  })),
];

describe('what the demo account sends with POST /v1/messages', () => {
  it.each(SENT)('is in the sandbox: $channel', async ({ channel, content, to, shown }) => {
    const sent = await sendMessage(channel, content);
    expect(sent).toMatchObject({ status: 'sent', channel, replayed: false });
    const [message, ...others] = await listed({ channel, to: to(addresses) });
    expect(others).toEqual([]);
    expect(message).toMatchObject({ channel, ...shown(String(sent['message_id'])) });
    expect(Object.keys(message ?? {}).sort()).toEqual(
      ['channel', 'data', 'headers', 'html', 'provider', 'received_at', 'subject', 'text'].concat(
        ...['title', 'to'],
      ),
    );
    expect(Date.now() - Date.parse(message?.received_at ?? '')).toBeLessThan(60_000);
    const page = await (await fetch(`${readyStack().sandbox_url}/?channel=${channel}`)).text();
    expect(page).toContain('نرگس');
  });

  it('goes to each device by the push service of the device', async () => {
    const { fcm = '', apns = '' } = addresses.devices;
    const sent = await sendMessage('push', { ...WORDS, title: 'دو دستگاه' });
    for (const [provider, to] of Object.entries({ fcm, apns }))
      expect((await listed({ channel: 'push', to }))[0]).toMatchObject({
        ...{ provider, title: 'دو دستگاه', text: TEXT, data: { sg_mid: sent['message_id'] } },
      });
  });

  it('is in the inbox of the app: inapp', async () => {
    const sent = await sendMessage('inapp', { ...WORDS, title: 'سفارش' });
    expect(sent).toMatchObject({ status: 'sent', channel: 'inapp' });
    const { rows } = await database.query<{ title: string; body: string }>(
      'SELECT title, body FROM inbox_entries WHERE account_id = $1 AND user_id = $2',
      [readyStack().demo.account_id, USER],
    );
    expect(rows).toEqual([{ title: 'سفارش', body: TEXT }]);
    expect(await listed({ channel: 'inapp' })).toEqual([]);
  });
});

describe('the list of the sandbox', () => {
  it('has the newest message first, as many as asked for, of a channel or an address', async () => {
    await sendMessage('bale', { text: 'اول' });
    await sendMessage('rubika', { text: 'دوم' });
    const newest = await listed({ limit: '2' });
    expect(newest).toMatchObject([{ text: 'دوم' }, { text: 'اول' }]);
    expect(await listed({ limit: '1', channel: 'bale' })).toEqual([newest[1]]);
    expect(await listed({ limit: '1', to: addresses.chats.bale })).toEqual([newest[1]]);
    const inAnyNotation = [PHONE, `+98${PHONE.slice(1)}`, `98${PHONE.slice(1)}`];
    for (const to of inAnyNotation) expect(await listed({ to })).toHaveLength(1);
  });

  it('keeps the last 1,000', async () => {
    const url = `${readyStack().sandbox_url}/bale/bot1/sendMessage`;
    for (let first = 0; first < 1010; first += 101)
      await Promise.all(
        Array.from({ length: 101 }, (_, at) =>
          fetch(url, {
            method: 'POST',
            body: JSON.stringify({ chat_id: 1, text: String(first + at) }),
          }),
        ),
      );
    const kept = await listed({ limit: '1000' });
    expect(kept).toHaveLength(1000);
    expect(kept.every(({ channel, to }) => channel === 'bale' && to === '1')).toBe(true);
  });
});
