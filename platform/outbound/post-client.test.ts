import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { http2Receiver, respond, type ReceivedPost } from '../http2/testing/receivers.ts';
import { selfSigned } from '../http2/testing/self-signed.ts';
import { AddressRules } from './address-rules.ts';
import { AllowedHosts } from './allowed-hosts.ts';
import { PostClient, type PostRequest } from './post-client.ts';
import { atEnd, closeAll, listen, LOCAL, receiver } from './receivers.ts';
import type { Resolve } from './resolve.ts';

afterEach(closeAll);

function client(
  options: { allow?: string[]; resolve?: Resolve; connectMs?: number } = {},
): PostClient {
  const { connectMs = 5000 } = options;
  const { allow = ['localhost', '127.0.0.1', 'push.example'], resolve = LOCAL } = options;
  const rules = new AddressRules({ ports: 'any' });
  const made = new PostClient({ allowed: new AllowedHosts(allow), rules, resolve }, { connectMs });
  atEnd(() => made.close());
  return made;
}

const REQUEST: PostRequest = {
  shared: [['authorization', 'bearer t']],
  headers: [['x-id', '1']],
  body: Buffer.from('{}'),
  timeout: 5000,
  signal: new AbortController().signal,
};

const post = (to: PostClient, url: string, request: Partial<PostRequest> = {}) =>
  to.post(to.destination(url), { ...REQUEST, ...request });

describe('a request', () => {
  test('to an https URL arrives over HTTP/2 on one connection', async () => {
    const { port, received, sessions } = await http2Receiver((one) => respond(one, { body: 'ok' }));
    const to = client();
    for (const path of ['/a', '/b'])
      expect(await post(to, `https://push.example:${port}/base/?q`, { path })).toMatchObject({
        ...{ kind: 'answered', status: 200, body: 'ok' },
      });
    expect(received.map(({ path }) => path)).toEqual(['/base/a?q', '/base/b?q']);
    expect(received[0]?.headers).toMatchObject({
      ':authority': `push.example:${port}`,
      ...{ authorization: 'bearer t', 'x-id': '1' },
    });
    expect(sessions).toHaveLength(1);
  });

  test('to a server that speaks no HTTP/2 arrives over HTTP/1.1', async () => {
    let connections = 0;
    const requests: string[] = [];
    const server = createTlsServer(selfSigned(), (one, response) => {
      requests.push(`${one.httpVersion} ${one.url ?? ''} ${one.headers['x-id'] as string}`);
      one.resume().on('end', () => response.writeHead(201).end('ok'));
    });
    server.on('connection', () => connections++);
    const url = `https://push.example:${await listen(server)}/a`;
    const to = client();
    expect(await post(to, url)).toMatchObject({ kind: 'answered', status: 201, body: 'ok' });
    expect(await post(to, url)).toMatchObject({ kind: 'answered', status: 201 });
    expect(requests).toEqual(['1.1 /a 1', '1.1 /a 1']);
    // The second one was not offered HTTP/2 again.
    expect(connections).toBe(2);
  });

  test('to an http URL arrives over HTTP/1.1', async () => {
    const { port, received } = await receiver((_, response) => response.writeHead(204).end());
    expect(await post(client(), `http://127.0.0.1:${port}`, { path: '/x' })).toMatchObject({
      ...{ kind: 'answered', status: 204 },
    });
    expect(received).toMatchObject([{ url: '/x', body: '{}', headers: { 'x-id': '1' } }]);
  });

  test('is not sent to a server whose certificate is not its own', async () => {
    const { port, received } = await http2Receiver((one) => respond(one));
    const to = client({ allow: ['another.test'] });
    expect(await post(to, `https://another.test:${port}/`)).toMatchObject({
      kind: 'not_sent',
      isRefused: false,
      message: expect.stringContaining('another.test') as string,
    });
    expect(received).toEqual([]);
  });

  test('is not sent to a server that refuses connections, whose address is shown to nobody', async () => {
    expect(await post(client(), 'https://push.example:1/')).toEqual({
      ...{ kind: 'not_sent', isRefused: false, message: 'connect ECONNREFUSED' },
    });
  });
});

describe('a connection that fails before it is encrypted is closed, and nothing is sent', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['the server resets it', (socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['the server closes it', (socket) => socket.end()],
    ['the server sends something else', (socket) => socket.write('HTTP/1.1 400 Bad Request')],
    ['the server sends nothing', () => undefined],
  ])('%s', async (_, misbehave) => {
    const closed = Promise.withResolvers<undefined>();
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('close', () => closed.resolve(undefined));
      socket.resume();
      misbehave(socket);
    });
    const to = client({ connectMs: 200 });
    const url = `https://push.example:${await listen(server)}/`;
    expect(await post(to, url)).toMatchObject({ kind: 'not_sent', isRefused: false });
    await closed.promise;
  });
});

describe('the address guard', () => {
  test.each([
    'https://127.0.0.1/x',
    'https://[::1]/x',
    'https://169.254.169.254/latest',
    'ftp://push.example/',
    'https://a:b@push.example/',
  ])('refuses %s before anything is resolved', (url) => {
    expect(() => client({ allow: [] }).destination(url)).toThrow();
  });

  test('refuses a name with a private address, and nothing is sent', async () => {
    const { port, received } = await http2Receiver((one) => respond(one));
    expect(await post(client({ allow: [] }), `https://push.example:${port}/`)).toMatchObject({
      ...{ kind: 'not_sent', isRefused: true },
    });
    expect(received).toEqual([]);
  });
});

describe('connections to many hosts', () => {
  const many = (count: number, port: number) =>
    Array.from({ length: count }, (_, at) => `https://h${at}.push.example:${port}/`);
  const allow = Array.from({ length: 70 }, (_, at) => `h${at}.push.example`);

  test('are closed when others are needed: the longest unused first', async () => {
    const { port, sessions } = await http2Receiver((one) => respond(one));
    const to = client({ allow });
    for (const url of many(70, port)) expect(await post(to, url)).toMatchObject({ status: 200 });
    await expect.poll(() => sessions.filter(({ closed }) => closed).length).toBe(6);
    expect(sessions.slice(0, 6).every(({ closed }) => closed)).toBe(true);
  });

  test('are at most 64 at a time', async () => {
    const waiting: ReceivedPost[] = [];
    const { port } = await http2Receiver((one) => {
      if (waiting.push(one) === 64) for (const each of waiting) respond(each);
    });
    const to = client({ allow, connectMs: 30_000 });
    const request = { timeout: 60_000 };
    const results = await Promise.all(many(66, port).map((url) => post(to, url, request)));
    expect(results.slice(64)).toEqual(
      Array(2).fill({
        kind: 'not_sent',
        isRefused: false,
        message: 'connections to too many hosts',
      }),
    );
    expect(results.filter(({ kind }) => kind === 'answered')).toHaveLength(64);
  });
});
