import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { AllowedHosts } from './allowed-hosts.ts';
import { OutboundClient } from './client.ts';
import { atEnd, client, closeAll, listen, LOCAL, post, receiver } from './receivers.ts';
import type { Resolve } from './resolve.ts';

afterEach(closeAll);

describe('an endpoint', () => {
  test('gets a POST with the headers and the bytes, over a reused connection', async () => {
    const { port, received } = await receiver((_, response) => response.writeHead(204).end());
    const to = client({ allow: [`127.0.0.1:${port}`] });
    const url = `http://127.0.0.1:${port}/in?x=1`;
    expect(await post(to, url)).toEqual({ kind: 'answered', status: 204, excerpt: '' });
    expect(await post(to, url)).toEqual({ kind: 'answered', status: 204, excerpt: '' });
    expect(received[0]).toMatchObject({
      method: 'POST',
      url: '/in?x=1',
      body: '{"سلام":1}',
      headers: { 'x-a': 'b', host: `127.0.0.1:${port}` },
    });
    expect(received[0]?.headers['content-length']).toBe('14');
    expect(received[1]?.socket).toBe(received[0]?.socket);
  });

  test('has an excerpt of at most 500 bytes of its failure, cut between characters', async () => {
    const { port } = await receiver((_, response) => {
      response.writeHead(500);
      response.write(`a\u0000${'ن'.repeat(100_000)}`);
      response.end();
    });
    const found = await post(client({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`);
    expect(found).toEqual({ kind: 'answered', status: 500, excerpt: `a\ufffd${'ن'.repeat(248)}` });
  });

  test('has failed with its status when the body of the failure does not end in time', async () => {
    const { port } = await receiver((_, response) => {
      response.writeHead(503);
      response.write('partly');
    });
    const found = await post(
      client({ allow: ['127.0.0.1'], timeout: 2000 }),
      `http://127.0.0.1:${port}/`,
    );
    expect(found).toEqual({ kind: 'answered', status: 503, excerpt: 'partly' });
  });

  test('has succeeded as soon as the head of a success arrived, whatever its body does', async () => {
    const { port } = await receiver((_, response) => {
      response.writeHead(200);
      const more = setInterval(() => response.write('x'.repeat(10_000)), 1);
      response.once('close', () => clearInterval(more));
    });
    expect(await post(client({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`)).toMatchObject(
      { kind: 'answered', status: 200 },
    );
  });

  test('has failed when it does not answer, closes, is unreachable or cannot be resolved', async () => {
    const { port } = await receiver(() => undefined);
    const closing = await listen(createTcpServer((socket) => socket.destroy()));
    const to = client({ allow: ['127.0.0.1'], timeout: 200 });
    expect(await post(to, `http://127.0.0.1:${port}/`)).toEqual({
      kind: 'failed',
      message: 'no answer within 0.2 s',
    });
    const unhurried = client({ allow: ['127.0.0.1'] });
    expect(await post(unhurried, `http://127.0.0.1:${closing}/`)).toMatchObject({ kind: 'failed' });
    expect(await post(unhurried, 'http://127.0.0.1:1/')).toEqual({
      kind: 'failed',
      message: 'connect ECONNREFUSED 127.0.0.1:1',
    });
    const nowhere = client({
      resolve: () =>
        Promise.reject(
          Object.assign(new Error('queryA ENOTFOUND a.example'), { code: 'ENOTFOUND' }),
        ),
    });
    expect(await post(nowhere, 'http://a.example/')).toEqual({
      kind: 'failed',
      message: 'queryA ENOTFOUND a.example',
    });
  });

  test('has not failed when it closed a reused connection', async () => {
    let requests = 0;
    const port = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => {
          requests++;
          // The second request on a connection is met by its end.
          if (requests === 2) socket.resetAndDestroy();
          else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        });
      }),
    );
    const to = client({ allow: ['127.0.0.1'] });
    expect(await post(to, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
    expect(await post(to, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
    expect(requests).toBe(3);
  });
});

describe('the address guard', () => {
  test('refuses a name that resolves to a private address, and nothing is sent', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    const found = await post(client(), `http://rebound.example:${port}/`);
    expect(found).toEqual({
      kind: 'refused',
      message:
        'rebound.example has an address where nothing is sent; OUTBOUND_ALLOW_HOSTS names exceptions',
    });
    expect(received).toEqual([]);
  });

  test('shows customers no address that a name server inside answered', async () => {
    const { port } = await receiver((_, response) => response.end());
    const to = client({ allow: [`crm.internal:1`] });
    const messages = [
      await post(to, `http://crm.internal:${port}/`),
      await post(to, 'http://crm.internal:1/'),
    ].map((found) => (found.kind === 'answered' ? '' : found.message));
    expect(messages).toEqual([
      'crm.internal has an address where nothing is sent; OUTBOUND_ALLOW_HOSTS names exceptions',
      'connect ECONNREFUSED crm.internal:1',
    ]);
  });

  test('sends nothing to a port that is not listed', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    const to = new OutboundClient({
      ...{ allowed: new AllowedHosts([]), timeout: 1000, excerptBytes: 500, resolve: LOCAL },
    });
    atEnd(() => to.close());
    expect(await post(to, `http://any.example:${port}/`)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(`nothing is sent to port ${port}`) as string,
    });
    expect(received).toEqual([]);
  });

  test('checks the addresses of the lookup that the connection uses: nothing is sent to a name that changes between two lookups', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    let looks = 0;
    const changing: Resolve = () =>
      Promise.resolve([{ address: looks++ === 0 ? '192.0.2.1' : '127.0.0.1', family: 4 }]);
    // Whoever checked a first answer and connected by a second one would be at the receiver at the
    // second attempt, at the latest.
    const to = client({ resolve: changing });
    for (let attempt = 0; attempt < 3; attempt++)
      expect(await post(to, `http://changing.example:${port}/`)).toMatchObject({ kind: 'refused' });
    expect(received).toEqual([]);
    expect(looks).toBe(3);
  });

  test('refuses a name when one of its addresses is private', async () => {
    const mixed: Resolve = () =>
      Promise.resolve([
        { address: '1.1.1.1', family: 4 },
        { address: '::1', family: 6 },
      ]);
    expect(await post(client({ resolve: mixed }), 'http://mixed.example/')).toMatchObject({
      kind: 'refused',
    });
  });

  test('checks the address of the connected socket too, in case the resolver was deceived', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    // A resolver that shows the guard one address and the connection another one.
    const deceiving: Resolve = () => {
      const shown = ['1.1.1.1', '127.0.0.1'];
      let reads = 0;
      const answer = {
        family: 4 as const,
        get address() {
          return shown[Math.min(reads++, 1)] ?? '';
        },
      };
      return Promise.resolve([answer]);
    };
    expect(
      await post(client({ resolve: deceiving }), `http://deceiving.example:${port}/`),
    ).toMatchObject({ kind: 'refused' });
    expect(received).toEqual([]);
  });

  test('allows a name of OUTBOUND_ALLOW_HOSTS whatever it resolves to, on its port only', async () => {
    const { port, received } = await receiver((_, response) => response.end());
    const to = client({ allow: [`crm.internal:${port}`] });
    expect(await post(to, `http://crm.internal:${port}/`)).toMatchObject({ status: 200 });
    expect(await post(to, `http://crm.internal:${port + 1}/`)).toMatchObject({ kind: 'refused' });
    expect(received).toHaveLength(1);
  });
});

test('an IPv6 address is allowed by its entry', async ({ skip }) => {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(0, '::1', () => resolve(true));
  });
  if (!isListening) skip('this machine has no IPv6');
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  expect(await post(client({ allow: [`[::1]:${port}`] }), `http://[::1]:${port}/`)).toMatchObject({
    status: 200,
  });
  expect(await post(client(), `http://[::1]:${port}/`)).toMatchObject({ kind: 'refused' });
});

test('proxies of the environment are not used', async () => {
  const { port, received } = await receiver((_, response) => response.end());
  const proxy = await receiver((_, response) => response.end());
  process.env['http_proxy'] = process.env['HTTP_PROXY'] = `http://127.0.0.1:${proxy.port}`;
  atEnd(() => {
    delete process.env['http_proxy'];
    delete process.env['HTTP_PROXY'];
  });
  expect(
    await post(client({ allow: [`127.0.0.1:${port}`] }), `http://127.0.0.1:${port}/`),
  ).toMatchObject({ status: 200 });
  expect([received.length, proxy.received.length]).toEqual([1, 0]);
});
