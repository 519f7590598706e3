import { createServer as createTcpServer, type Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { AddressRules } from './address-rules.ts';
import { AllowedHosts } from './allowed-hosts.ts';
import { ApiClient, type ApiResult } from './api-client.ts';
import { atEnd, closeAll, listen, LOCAL, receiver } from './receivers.ts';
import type { Resolve } from './resolve.ts';

afterEach(closeAll);

function apiClient(options: { allow?: string[]; resolve?: Resolve } = {}): ApiClient {
  const { allow = ['api.example'], resolve = LOCAL } = options;
  const rules = new AddressRules({ ports: 'any' });
  const made = new ApiClient({ allowed: new AllowedHosts(allow), rules, resolve });
  atEnd(() => made.close());
  return made;
}

const call = (port: number, options: { timeout?: number; signal?: AbortSignal } = {}) =>
  apiClient().post({
    url: `http://api.example:${port}/bot-secret/send?key=hidden`,
    headers: { 'Content-Type': 'application/json' },
    body: '{"متن":1}',
    timeout: 5000,
    ...options,
  });

/** A server that reads until it has seen the request's body, then does `then`. */
async function tcp(then: (socket: Socket) => void): Promise<number> {
  return await listen(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      let seen = '';
      socket.on('data', (data: Buffer) => {
        seen += data.toString();
        if (seen.includes(':1}')) then(socket);
      });
    }),
  );
}

describe('a request to an API', () => {
  test('answers status, headers and body', async () => {
    const { port, received } = await receiver((_, response) => {
      response.setHeader('Retry-After', '7');
      response.statusCode = 429;
      response.end('{"ok":false}');
    });
    expect(await call(port)).toMatchObject({
      kind: 'answered',
      status: 429,
      headers: { 'retry-after': '7' },
      body: '{"ok":false}',
    });
    expect(received).toMatchObject([{ method: 'POST', body: '{"متن":1}' }]);
  });

  test('of a group of 60 goes over the connections of the group before it', async () => {
    const connections = new Set<unknown>();
    const waiting: ServerResponse[] = [];
    const { port } = await receiver((request, response) => {
      connections.add(request.socket);
      waiting.push(response);
      // All answers come at once, so that no connection idles until it is closed.
      if (waiting.length === 60) for (const one of waiting.splice(0)) one.end('{}');
    });
    const client = apiClient();
    const group = () =>
      Promise.all(
        Array.from({ length: 60 }, () =>
          client.post({
            ...{ url: `http://api.example:${port}/`, headers: {}, body: '{}', timeout: 20_000 },
          }),
        ),
      );
    const results = [...(await group()), ...(await group())];
    expect(results.filter(({ kind }) => kind !== 'answered')).toEqual([]);
    expect(connections.size).toBe(60);
  });

  test('keeps the first 64 KiB of an answer', async () => {
    const { port } = await receiver((_, response) => response.end('x'.repeat(1_000_000)));
    const result = await call(port);
    expect(result).toMatchObject({ kind: 'answered', status: 200 });
    expect((result as { body: string }).body).toHaveLength(65_536);
  });

  test('is not redirected: the credentials of its path go nowhere else', async () => {
    const elsewhere = await receiver((_, response) => response.end());
    const { port } = await receiver((_, response: ServerResponse) => {
      response.writeHead(307, { location: `http://api.example:${elsewhere.port}/` });
      response.end();
    });
    expect(await call(port)).toMatchObject({ kind: 'answered', status: 307 });
    expect(elsewhere.received).toEqual([]);
  });

  test('uses a connection again', async () => {
    const { port, received } = await receiver((_, response) => response.end('{}'));
    const client = apiClient();
    const request = {
      ...{ url: `http://api.example:${port}/`, headers: {}, body: '' },
      timeout: 5000,
    };
    await client.post(request);
    await client.post(request);
    expect(received[1]?.socket).toBe(received[0]?.socket);
  });
});

describe('whether a request that got no answer may have arrived:', () => {
  const UNUSED_PORT = 1;

  test.each<[string, () => Promise<ApiResult>, Partial<ApiResult>]>([
    ['not when the connection is refused', () => call(UNUSED_PORT), { kind: 'not_sent' }],
    [
      'not when it was aborted before',
      () => call(UNUSED_PORT, { signal: AbortSignal.abort() }),
      { kind: 'not_sent' },
    ],
    [
      'yes when the connection is cut after the request',
      async () => call(await tcp((socket) => socket.destroy())),
      { kind: 'lost' },
    ],
    [
      'yes when a used connection turns out to be closed: it is not sent again',
      async () => {
        let requests = 0;
        const port = await tcp((socket) => {
          if (++requests === 2) socket.destroy();
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
        });
        const client = apiClient();
        const request = {
          ...{ url: `http://api.example:${port}/`, headers: {}, body: '{"a":1}' },
          timeout: 5000,
        };
        expect(await client.post(request)).toMatchObject({ kind: 'answered' });
        const result = await client.post(request);
        expect(requests).toBe(2);
        return result;
      },
      { kind: 'lost' },
    ],
    [
      'yes when an acceptance is cut short',
      async () =>
        call(
          await tcp((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"ok"')),
        ),
      { kind: 'lost' },
    ],
    [
      'a refusal that is cut short is an answer',
      async () =>
        call(
          await tcp((socket) => socket.end('HTTP/1.1 400 No\r\nContent-Length: 900\r\n\r\n{"ok"')),
        ),
      { kind: 'answered', status: 400, body: '{"ok"' },
    ],
    [
      'yes when the answer is not HTTP',
      async () => call(await tcp((socket) => socket.end('SSH-2.0-OpenSSH\r\n'))),
      { kind: 'lost' },
    ],
    [
      'yes when no answer comes in time',
      async () => call(await tcp(() => undefined), { timeout: 200 }),
      { kind: 'lost', message: 'no answer within 0.2 s' },
    ],
    [
      'yes when the caller stops waiting',
      async () => {
        const stop = new AbortController();
        const port = await tcp(() => stop.abort());
        return call(port, { signal: stop.signal });
      },
      { kind: 'lost' },
    ],
  ])('%s', async (_, made, expected) => expect(await made()).toMatchObject(expected));

  test.each([
    ['a name with a forbidden address', 'http://other.example/', 'has an address where nothing'],
    ['a loopback address', 'http://127.0.0.1/', 'is a loopback address'],
    ['what is no URL', 'kavenegar', 'cannot be read'],
  ])('not when the guard refuses %s', async (_, url, message) => {
    const result = await apiClient().post({ url, headers: {}, body: '', timeout: 5000 });
    expect(result).toMatchObject({ kind: 'not_sent', isRefused: true });
    expect((result as { message: string }).message).toContain(message);
  });

  test('a failure names neither the path nor the query, which may hold credentials', async () => {
    const results = await Promise.all([
      call(UNUSED_PORT),
      call(await tcp((socket) => socket.destroy())),
      apiClient({ allow: [] }).post({
        ...{ url: 'http://api.example/bot-secret/?key=hidden', headers: {}, body: '' },
        timeout: 5000,
      }),
    ]);
    expect(JSON.stringify(results)).not.toMatch(/secret|hidden/);
  });
});
