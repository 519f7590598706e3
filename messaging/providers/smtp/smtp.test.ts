import { afterEach, describe, expect, test, vi } from 'vitest';
import { atEnd, closeAll } from '../../../platform/outbound/receivers.ts';
import type { Provider, ProviderAnswer } from '../provider.ts';
import { answerTable } from '../testing/answer-table.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';
import { parseSmtpConfig } from './config.ts';
import { openSmtp } from './smtp.ts';
import { scriptedServer, type Script } from './testing/scripted-server.ts';

afterEach(closeAll);

const TO = { kind: 'email', address: 'nima@mail.example' } as const;
const MESSAGE = {
  ...messageTo(TO, { subject: 'سلام', text: 'متن', html: '<p>متن</p>' }),
  email: {
    bounceLocal: 'aeaq',
    unsubscribeUrl: 'https://news.shop.example/e/u/x',
    preferencesUrl: 'https://news.shop.example/e/p/x',
  },
};

function open(
  port: number,
  config: object = {},
  options: { secret?: string; allow?: string[] } = {},
) {
  const { secret = '', ...rest } = options;
  const json = {
    ...{ host: '127.0.0.1', port, from: 'فروشگاه <news@shop.example>' },
    ...{ bounce_domain: 'bounce.shop.example', ...config },
  };
  const opening = { channel: 'email' as const, accountId: 1, secret, deps: providerDeps(rest) };
  const provider = openSmtp(parseSmtpConfig(json), opening);
  atEnd(() => void provider.close());
  return provider;
}

const send = (provider: Provider, signal = new AbortController().signal, message = MESSAGE) =>
  provider.send(message, { signal });

async function sendTo(script: Script, config?: object, secret?: string) {
  const server = await scriptedServer(script);
  const answer = await send(open(server.port, config, secret === undefined ? {} : { secret }));
  return { answer, ...server };
}

const LOGIN = { username: 'news' };
const WITH_AUTH = { extensions: ['PIPELINING', 'AUTH PLAIN LOGIN'] };

describe('an attempt at a server that', () => {
  test.each<[string, Script, Partial<ProviderAnswer>]>([
    ['accepts', {}, { kind: 'accepted', providerMessageId: '4F1K2X' }],
    ['accepts without pipelining', { extensions: [] }, { kind: 'accepted' }],
    ['cuts the connection at once', { greeting: 'cut' }, { kind: 'retry', reason: 'unreachable' }],
    ['greets with a refusal', { greeting: '554 no service' }, { kind: 'retry' }],
    ['does not speak SMTP', { greeting: 'SSH-2.0-OpenSSH' }, { kind: 'retry' }],
    ['is busy', { greeting: '421 too many connections' }, { kind: 'retry' }],
    ['cuts the connection at MAIL', { MAIL: 'cut' }, { kind: 'retry' }],
    ['cuts the connection at RCPT', { RCPT: 'cut' }, { kind: 'retry' }],
    ['cuts the connection at DATA', { DATA: 'cut' }, { kind: 'retry' }],
    [
      'cuts the connection after the final dot',
      { content: 'cut' },
      { kind: 'unknown', reason: 'no_answer' },
    ],
    ['answers nonsense after the final dot', { content: 'yes' }, { kind: 'unknown' }],
    [
      'announces a smaller limit',
      { extensions: ['SIZE 100'] },
      { kind: 'rejected', reason: 'too_large' },
    ],
  ])('%s', async (_, script, expected) => {
    const variants = script.extensions ? [script] : [script, { ...script, extensions: [] }];
    for (const one of variants) expect((await sendTo(one)).answer).toMatchObject(expected);
  });

  const rows = answerTable('smtp').map((row) => [row.status, row.code, row.expected] as const);

  test.each(rows)('answers %i %s: that is %j', async (status, code, expected) => {
    const [, command = '', text = ''] = /^(\S+) ?(.*)$/.exec(code) ?? [];
    const reply = { [command]: `${status} ${text}` };
    for (const extensions of [['PIPELINING', 'AUTH PLAIN'], ['AUTH PLAIN LOGIN']]) {
      const login = command === 'AUTH' ? LOGIN : undefined;
      const { answer } = await sendTo({ extensions, ...reply }, login, login && 'hunter22');
      expect(answer).toMatchObject(expected);
    }
  });

  test('cuts the connection at the login', async () => {
    const { answer } = await sendTo({ ...WITH_AUTH, AUTH: 'cut' }, LOGIN, 'hunter22');
    expect(answer).toMatchObject({ kind: 'retry' });
  });

  test('does not relay stops the sender when ten recipients were refused so', async () => {
    const { port } = await scriptedServer({ RCPT: '554 5.7.1 Relay access denied' });
    const provider = open(port);
    const kinds: string[] = [];
    for (let n = 0; n < 10; n++) {
      const to = { ...TO, address: `user${n}@mail.example` };
      kinds.push((await send(provider, undefined, { ...MESSAGE, to })).kind);
    }
    expect(kinds).toEqual([...Array<string>(9).fill('retry'), 'broken']);
  });

  test('does not relay to one recipient goes on with the others', async () => {
    let mails = 0;
    const script: Script = {
      get RCPT() {
        return ++mails === 1 ? '250 ok' : '554 5.7.1 Relay access denied';
      },
    };
    const provider = open((await scriptedServer(script)).port);
    expect(await send(provider)).toMatchObject({ kind: 'accepted' });
    expect(await send(provider)).toMatchObject({ kind: 'rejected' });
  });

  test('repeats the password in its answer', async () => {
    const script = { ...WITH_AUTH, AUTH: '535 wrong: hunter22' };
    const { answer } = await sendTo(script, LOGIN, 'hunter22');
    expect(JSON.stringify(answer)).not.toContain('hunter22');
  });

  test('does not answer MAIL is left when the caller stops, and is tried again', async () => {
    const stop = new AbortController();
    const { port, commands } = await scriptedServer({ MAIL: 'silent' });
    const answer = send(open(port), stop.signal);
    await vi.waitUntil(() => commands.some((line) => line.startsWith('MAIL')), { timeout: 20_000 });
    stop.abort();
    expect(await answer).toMatchObject({ kind: 'retry' });
  });

  test('is not there', async () => {
    expect(await send(open(1))).toMatchObject({ kind: 'retry', reason: 'unreachable' });
  });

  test('the address guard forbids', async () => {
    const { port, connections } = await scriptedServer({});
    const answers = await Promise.all([
      send(open(port, {}, { allow: [] })),
      send(open(25, { host: 'rebound.example' }, { allow: [] })),
    ]);
    for (const answer of answers)
      expect(answer).toMatchObject({ kind: 'broken', reason: 'address_refused' });
    expect(connections()).toBe(0);
  });
});

describe('a connection', () => {
  test('is used again, also after a refused recipient', async () => {
    const { port, connections, commands } = await scriptedServer({ RCPT: '550 5.1.1 no' });
    const provider = open(port);
    for (let n = 0; n < 3; n++) expect((await send(provider)).kind).toBe('dead_address');
    expect(connections()).toBe(1);
    expect(commands.filter((line) => line === 'RSET')).toHaveLength(3);
  });

  test('that was closed while it was idle is replaced, and the message is sent once', async () => {
    let mails = 0;
    const script: Script = {
      get MAIL() {
        return ++mails === 2 ? 'cut' : '250 ok';
      },
    };
    const { port, connections, contents } = await scriptedServer(script);
    const provider = open(port);
    expect((await send(provider)).kind).toBe('accepted');
    expect((await send(provider)).kind).toBe('accepted');
    expect(connections()).toBe(2);
    expect(contents).toHaveLength(2);
  });

  test('that is new and is cut is not replaced: the caller decides when to try again', async () => {
    const { port, connections } = await scriptedServer({ MAIL: 'cut' });
    expect((await send(open(port))).kind).toBe('retry');
    expect(connections()).toBe(1);
  });

  test('serves one message at a time, and there are at most 50', async () => {
    const { port, connections, contents } = await scriptedServer({});
    const provider = open(port);
    const answers = await Promise.all(Array.from({ length: 200 }, () => send(provider)));
    expect(answers.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(connections()).toBeLessThanOrEqual(50);
    expect(contents).toHaveLength(200);
  });

  test('that is waited for: too many messages are sent back, and one stops with its signal', async () => {
    const stop = new AbortController();
    const { port } = await scriptedServer({ MAIL: 'silent' });
    const provider = open(port);
    const waiting = Array.from({ length: 1050 }, () => send(provider, stop.signal));
    expect(await send(provider)).toMatchObject({ kind: 'retry', detail: 'no connection was free' });
    stop.abort();
    const kinds = new Set((await Promise.all(waiting)).map(({ kind }) => kind));
    expect([...kinds]).toEqual(['retry']);
  });
});

test.each([
  'nima',
  'a b@c.example',
  'a@b@c.example',
  'a@',
  'x@y\r\nRCPT TO:<z@z>',
  '<a@b.example>',
])('nothing is sent to %j', async (address) => {
  const { port, connections } = await scriptedServer({});
  const message = { ...MESSAGE, to: { ...TO, address } };
  const answer = await send(open(port), undefined, message);
  expect(answer).toMatchObject({ kind: 'dead_address', reason: 'invalid_address' });
  expect(connections()).toBe(0);
});
