import { createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { atEnd, closeAll, listen, receiver } from '../../platform/outbound/receivers.ts';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { Provider, ProviderAnswer, Target } from './provider.ts';
import { openProvider } from './registry.ts';
import { answerTable } from './testing/answer-table.ts';
import { messageTo, providerDeps } from './testing/provider-deps.ts';

afterEach(closeAll);

const SECRET = 'secret:key/1';
const UNUSED_PORT = 1;
const TABLE = answerTable('JSON APIs').map((row) => [row.status, row.code, row.expected] as const);

const PROVIDERS: readonly { name: string; channel: Channel; to: Target; isIdempotent?: true }[] = [
  {
    ...{ name: 'kavenegar', channel: 'sms', isIdempotent: true },
    to: { kind: 'phone', number: '09121234567' },
  },
  { name: 'bale', channel: 'bale', to: { kind: 'chat', chatId: '4711' } },
  { name: 'eitaa', channel: 'eitaa', to: { kind: 'chat', chatId: '4711' } },
  { name: 'rubika', channel: 'rubika', to: { kind: 'chat', chatId: 'b0Xyz' } },
];

/** A server that reads the request's head, then does `then`. */
const tcp = (then: (socket: Socket) => void): Promise<number> =>
  listen(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => then(socket));
    }),
  );

/** A server that answers with a status, headers and a body. */
const http = async (status: number, body: string, headers: Record<string, string> = {}) =>
  (await receiver((_, response) => response.writeHead(status, headers).end(body))).port;

describe.each(PROVIDERS)('$name', ({ name, channel, to, isIdempotent = false }) => {
  const provider = (port: number, allow?: string[]): Provider => {
    const config = { url: `http://127.0.0.1:${port}/base/` };
    const deps = providerDeps(allow ? { allow } : {});
    const opened = openProvider({
      ...{ channel, provider: name, config, secret: SECRET, accountId: 1, deps },
    });
    atEnd(() => void opened.close());
    return opened;
  };
  const send = (port: number, signal = new AbortController().signal): Promise<ProviderAnswer> =>
    provider(port).send(messageTo(to), { signal });

  test.each<[string, () => number | Promise<number>, Partial<ProviderAnswer>]>([
    ['refuses the connection', () => UNUSED_PORT, { kind: 'retry', reason: 'unreachable' }],
    [
      'cuts the connection after the request',
      () => tcp((socket) => socket.destroy()),
      { kind: 'unknown', reason: 'no_answer' },
    ],
    [
      'cuts its acceptance short',
      () => tcp((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{')),
      { kind: 'unknown' },
    ],
    ['accepts with JSON of another form', () => http(200, '[1]'), { kind: 'unknown' }],
    ['accepts with nothing', () => http(200, ''), { kind: 'unknown' }],
  ])('%s', async (_, start, expected) => expect(await send(await start())).toMatchObject(expected));

  test.each(TABLE)('answers %i %s without JSON: that is %j', async (status, code, expected) => {
    const isOwnGateway = isIdempotent && (status === 502 || status === 504);
    const headers = { location: 'http://127.0.0.1:2/', 'retry-after': code.split(' ')[1] ?? '' };
    const answer = await send(await http(status, '<html>', headers));
    expect(answer).toMatchObject(isOwnGateway ? { kind: 'retry' } : expected);
  });

  test('answers 403 to a message after it took another one: the sender goes on', async () => {
    const body = { ok: true, status: 'OK', return: { status: 200 }, entries: [{ messageid: 1 }] };
    let calls = 0;
    const { port } = await receiver((_, response) =>
      ++calls === 1 ? response.end(JSON.stringify(body)) : response.writeHead(403).end('<html>'),
    );
    const opened = provider(port);
    const { signal } = new AbortController();
    expect(await opened.send(messageTo(to), { signal })).toMatchObject({ kind: 'accepted' });
    expect(await opened.send(messageTo(to), { signal })).toMatchObject({
      kind: 'rejected',
      reason: 'rejected_by_provider',
    });
  });

  test('that does not answer is left when the caller stops: the message may have arrived', async () => {
    const stop = new AbortController();
    const port = await tcp(() => stop.abort());
    expect(await send(port, stop.signal)).toMatchObject({ kind: 'unknown' });
  });

  test('is not called when the caller has stopped before', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    expect(await send(port, AbortSignal.abort())).toMatchObject({ kind: 'retry' });
    expect(received).toEqual([]);
  });

  test('at a forbidden address is broken, and is not called', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    const answer = await provider(port, ['other.example']).send(messageTo(to), {
      signal: new AbortController().signal,
    });
    expect(answer).toMatchObject({ kind: 'broken', reason: 'address_refused' });
    expect(received).toEqual([]);
  });

  test('never reads its key again in what it answered', async () => {
    const bodies = [SECRET, encodeURIComponent(SECRET)].map((key) => `no such key: ${key}`);
    const answers = await Promise.all(bodies.map(async (body) => send(await http(400, body))));
    expect(JSON.stringify(answers)).not.toMatch(/secret(:|%3A)key/);
  });

  test('refuses a target of another channel', async () => {
    const inbox: Target = { kind: 'inbox', accountId: 1, userId: 'nima' };
    const { signal } = new AbortController();
    expect(await provider(UNUSED_PORT).send(messageTo(inbox), { signal })).toMatchObject({
      kind: 'rejected',
    });
  });

  test.each([
    ['another field', { sander: '1' }, 'there is no field sander'],
    ['a URL with a password', { url: 'https://a:b@x.example' }, 'without a password'],
    ['a URL with a query', { url: 'https://x.example/?a' }, 'a base to which paths are appended'],
    ['a URL of another scheme', { url: 'file:///etc/passwd' }, 'has to be a URL'],
    ['a list', [], 'has to be a JSON object'],
  ])('cannot be configured with %s', (_, config, message) => {
    const opening = { accountId: 1, channel, provider: name, deps: providerDeps() };
    expect(() => openProvider({ ...opening, config, secret: SECRET })).toThrow(message);
    expect(() => openProvider({ ...opening, config: {}, secret: '' })).toThrow('needs a secret');
  });
});

test('a channel has only providers of its own', () => {
  const opening = { accountId: 1, config: {}, secret: 'x', deps: providerDeps() };
  for (const name of ['bale', 'constructor', ''])
    expect(() => openProvider({ ...opening, channel: 'sms', provider: name })).toThrow(
      `the channel sms has no provider ${name}`,
    );
});
