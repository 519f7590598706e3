import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import { makeSealingKey, parseSealingKeys } from '../../platform/sealing.ts';
import type { Provider, ProviderAnswer, ProviderMessage } from '../providers/provider.ts';
import { senderPurpose, type StoredSender } from './sender.ts';
import { senderKey, type SenderKey } from './sender-store.ts';
import { Senders } from './senders.ts';

const sealer = parseSealingKeys(makeSealingKey('k'));
const seal = (text: string, accountId: number, channel: Channel) =>
  sealer?.seal(text, senderPurpose({ accountId, channel }));
const message = { messageId: 'c1.1.a' } as ProviderMessage;
const signal = new AbortController().signal;

let stored: Map<SenderKey, StoredSender[]>;
let lookups: number;
let time: number;
let opened: { config: object; secret: string | undefined; closed: boolean }[];
let answer: (provider: string, sent: ProviderMessage) => Promise<ProviderAnswer>;
let senders: Senders;
let marks: string[];

function put(change: Partial<StoredSender> = {}): void {
  const sender: StoredSender = {
    ...{ accountId: 1, channel: 'sms', provider: 'kavenegar', config: { sender: '10' } },
    ...{ secret: seal('api key', 1, 'sms'), enabled: true, revision: 1, broken: undefined },
    ...change,
  };
  const key = senderKey(sender.accountId, sender.channel);
  const others = (stored.get(key) ?? []).filter(({ provider }) => provider !== sender.provider);
  stored.set(key, [...others, sender]);
}

function make(options: { maxOpen?: number; sealer?: typeof sealer } = {}): Senders {
  return new Senders({
    store: {
      find: (keys) => {
        lookups++;
        const found = keys.flatMap((key) => {
          const rows = stored.get(key);
          return rows ? [[key, rows] as const] : [];
        });
        return Promise.resolve(new Map(found));
      },
    },
    sealer,
    marks: {
      broken: ({ provider, revision }, reason) => marks.push(`${provider} ${revision} ${reason}`),
      working: ({ provider, revision }) => marks.push(`${provider} ${revision} works`),
    },
    now: () => time,
    open: ({ channel, provider, config, secret }): Provider => {
      if (config['sender'] === 'bad') throw new Error('sender is not a line');
      const one = { config, secret, closed: false };
      opened.push(one);
      return {
        ...{ channel, name: provider, isIdempotent: true },
        send: (sent) => answer(provider, sent),
        close: () => {
          one.closed = true;
          return Promise.resolve();
        },
      };
    },
    ...options,
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  stored = new Map();
  [opened, marks] = [[], []];
  [lookups, time] = [0, 0];
  answer = () => Promise.resolve({ kind: 'accepted', providerMessageId: 'p' });
  senders = make();
  put();
  return () => vi.useRealTimers();
});

const open = (accountId = 1) => senders.open(accountId, 'sms');

describe('a sender', () => {
  it('is opened once with its secret and without the keys of limits', async () => {
    put({ config: { sender: '10', max_per_second: 5, max_concurrent: 3 } });
    const [first, second] = await Promise.all([open(), open()]);
    expect(first).toMatchObject({ limits: { perSecond: 5, concurrency: 3 }, revision: 1 });
    expect(second?.provider).toBe(first?.provider);
    expect(opened).toEqual([{ config: { sender: '10' }, secret: 'api key', closed: false }]);
    expect(lookups).toBe(1);
  });

  it('is none when the account has none, or it is disabled', async () => {
    expect(await open(2)).toBeUndefined();
    put({ enabled: false });
    expect(await open()).toBeUndefined();
  });

  it('of the inbox needs no configuration, but can be switched off', async () => {
    const inbox = await senders.open(2, 'inapp');
    expect(inbox?.provider).toMatchObject({ channel: 'inapp', name: 'inapp' });
    put({ accountId: 2, channel: 'inapp', provider: 'inapp', secret: undefined, enabled: false });
    time = 1000;
    expect(await senders.open(2, 'inapp')).toBeUndefined();
  });

  it('that was changed is used within a second, and its former provider ends its calls first', async () => {
    const before = await open();
    const { promise, resolve } = Promise.withResolvers<ProviderAnswer>();
    answer = () => promise;
    const running = before?.provider.send(message, { signal });
    put({ revision: 2, config: { sender: '20' } });
    expect((await open())?.provider).toBe(before?.provider);
    time = 1000;
    expect((await open())?.revision).toBe(2);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(opened.map(({ closed }) => closed)).toEqual([false, false]);
    resolve({ kind: 'accepted', providerMessageId: 'p' });
    expect(await running).toMatchObject({ kind: 'accepted' });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
    expect(await before?.provider.send(message, { signal })).toMatchObject({
      ...{ kind: 'retry', reason: 'sender_replaced' },
    });
  });

  it('that was disabled is closed, and opened again when it is enabled', async () => {
    await open();
    put({ enabled: false, revision: 2 });
    time = 1000;
    expect(await open()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(opened[0]?.closed).toBe(true);
    put({ revision: 3 });
    expect((await open())?.revision).toBe(3);
  });

  it('says that its provider refuses it, without opening it anew', async () => {
    await open();
    put({ broken: { reason: 'no credit', at: 5 } });
    time = 1000;
    expect((await open())?.broken).toEqual({ reason: 'no credit', at: 5 });
    expect(opened).toHaveLength(1);
  });

  it.each([
    ['with a config that its provider refuses', { config: { sender: 'bad' } }, /not a line/],
    ['with the sealed secret of another account', { secret: seal('x', 2, 'sms') }, /does not open/],
    ['with limits that cannot be read', { config: { max_per_second: -1 } }, /max_per_second/],
  ])('%s answers broken, and repeats no attempt', async (_, change, detail) => {
    put(change);
    const sender = await open();
    expect(sender?.provider.isIdempotent).toBe(false);
    const sent = await sender?.provider.send(message, { signal });
    expect(sent).toMatchObject({ kind: 'broken', detail: expect.stringMatching(detail) as string });
  });

  it('with a secret cannot be opened without SEALING_KEY', async () => {
    senders = make({ sealer: undefined });
    expect(await (await open())?.provider.send(message, { signal })).toMatchObject({
      ...{ kind: 'broken', detail: 'SEALING_KEY is empty, so the secret cannot be opened' },
    });
    put({ secret: undefined, revision: 2 });
    time = 1000;
    expect(await (await open())?.provider.send(message, { signal })).toMatchObject({
      kind: 'accepted',
    });
  });
});

describe('senders side by side', () => {
  const accepted = { kind: 'accepted', providerMessageId: 'p' } as const;
  const refused = { kind: 'broken', reason: 'credentials', detail: 'no' } as const;
  const putPush = (provider: string, change: Partial<StoredSender> = {}) =>
    put({
      ...{ channel: 'push', provider, config: {}, secret: seal(provider, 1, 'push') },
      ...change,
    });
  const push = () => senders.open(1, 'push');
  const sendTo = async (provider: 'fcm' | 'apns' | 'hms') => {
    const to = { kind: 'device', deviceId: 'd', provider, token: 't' } as const;
    return await (await push())?.provider.send({ ...message, to }, { signal });
  };
  beforeEach(() => {
    putPush('fcm', { revision: 4, config: { max_per_second: 9, max_concurrent: 50 } });
    putPush('apns', { revision: 7, config: { max_concurrent: 20 } });
    answer = (provider) => Promise.resolve({ ...accepted, providerMessageId: provider });
  });

  it('send to the devices of their services, with the smallest of their limits', async () => {
    const limits = { perSecond: 9, concurrency: 20 };
    expect(await push()).toMatchObject({ limits, revision: 7, provider: { name: 'fcm+apns' } });
    expect(await sendTo('fcm')).toMatchObject({ providerMessageId: 'fcm' });
    expect(await sendTo('apns')).toMatchObject({ providerMessageId: 'apns' });
    expect(await sendTo('hms')).toMatchObject({ reason: 'unsupported_push_service' });
    expect(opened.map(({ secret }) => secret)).toEqual(['fcm', 'apns']);
  });

  it('of which one is refused: its messages wait a minute, and the others are sent', async () => {
    let calls = 0;
    answer = (provider) => {
      if (provider === 'fcm') calls++;
      return Promise.resolve(provider === 'fcm' ? refused : accepted);
    };
    expect(await sendTo('fcm')).toMatchObject({ kind: 'retry', afterMs: 60_000 });
    time = 500;
    expect(await sendTo('fcm')).toMatchObject({ kind: 'retry', afterMs: 59_500 });
    expect(await sendTo('apns')).toMatchObject({ kind: 'accepted' });
    expect([calls, marks]).toEqual([1, ['fcm 4 credentials: no']]);
    putPush('fcm', { revision: 4, broken: { reason: 'credentials: no', at: 1 } });
    time = 60_000;
    expect((await push())?.broken).toBeUndefined();
    answer = () => Promise.resolve(accepted);
    expect(await sendTo('fcm')).toMatchObject({ kind: 'accepted' });
    expect(marks.slice(1)).toEqual(['fcm 4 works']);
  });

  it('that are both refused are broken', async () => {
    answer = () => Promise.resolve(refused);
    expect(await sendTo('fcm')).toMatchObject({ kind: 'retry' });
    expect(await sendTo('apns')).toMatchObject({ kind: 'broken' });
    for (const [provider, revision] of [
      ['fcm', 4],
      ['apns', 7],
    ] as const)
      putPush(provider, { revision, broken: { reason: 'no', at: 1 } });
    time = 1000;
    expect((await push())?.broken).toEqual({ reason: 'no', at: 1 });
  });

  it('are one when the other is disabled, and one that cannot be opened is refused', async () => {
    putPush('apns', { revision: 8, config: { sender: 'bad' } });
    expect(await sendTo('apns')).toMatchObject({ kind: 'retry', reason: 'part_refused' });
    expect(await sendTo('fcm')).toMatchObject({ kind: 'accepted' });
    putPush('apns', { revision: 9, enabled: false });
    time = 1000;
    expect(await push()).toMatchObject({ revision: 9, provider: { name: 'fcm' } });
    putPush('fcm', { revision: 10, enabled: false });
    time = 2000;
    expect(await push()).toBeUndefined();
  });
});

describe('the open senders of a process', () => {
  it('are bounded: those that were not used for longest are closed', async () => {
    senders = make({ maxOpen: 2 });
    for (const accountId of [1, 2, 3])
      put({ accountId, secret: seal('x', accountId, 'sms'), config: { sender: accountId } });
    await open(1);
    await open(2);
    await open(1);
    await open(3);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(opened.map(({ config, closed }) => [config, closed])).toEqual([
      [{ sender: 1 }, false],
      [{ sender: 2 }, true],
      [{ sender: 3 }, false],
    ]);
  });

  it('close once their calls have ended, but nobody waits for ever', async () => {
    const sender = await open();
    answer = () => new Promise<ProviderAnswer>(() => undefined);
    void sender?.provider.send(message, { signal });
    let isClosed = false;
    const closing = senders.close().then(() => (isClosed = true));
    await vi.advanceTimersByTimeAsync(29_000);
    expect(isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    await closing;
    expect(opened[0]?.closed).toBe(false);
  });
});
