import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { client, closeAll, listen, post, receiver, type Received } from './receivers.ts';

afterEach(closeAll);

describe('a redirect', () => {
  const to = (status: number, location: string) => (_: Received, response: ServerResponse) =>
    response.writeHead(status, { location }).end('moved');

  test.each([301, 302, 307, 308])(
    'with status %d is followed with the same method and body',
    async (status) => {
      const target = await receiver((_, response) => response.end());
      const { port } = await receiver(to(status, `http://127.0.0.1:${target.port}/new`));
      expect(
        await post(client({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`),
      ).toMatchObject({ status: 200 });
      expect(target.received[0]).toMatchObject({
        method: 'POST',
        url: '/new',
        body: '{"سلام":1}',
        headers: { 'x-a': 'b' },
      });
    },
  );

  test('with status 303 or 304 is an answer', async () => {
    const { port } = await receiver(to(303, '/other'));
    expect(await post(client({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`)).toEqual({
      kind: 'answered',
      status: 303,
      excerpt: 'moved',
    });
  });

  test.each([301, 302, 307, 308])(
    'with status %d to a private address is refused',
    async (status) => {
      const target = await receiver((_, response) => response.end());
      const { port } = await receiver(to(status, `http://127.0.0.1:${target.port}/`));
      const found = await post(
        client({ allow: [`front.example:${port}`] }),
        `http://front.example:${port}/`,
      );
      expect(found).toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('127.0.0.1 is a loopback address') as string,
      });
      expect(target.received).toEqual([]);
    },
  );

  test('to a name that resolves to a private address is refused', async () => {
    const { port } = await receiver(to(307, 'http://inner.example/'));
    expect(
      await post(client({ allow: [`front.example:${port}`] }), `http://front.example:${port}/`),
    ).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('inner.example has an address') as string,
    });
  });

  test('is followed at most five times', async () => {
    const { port, received } = await receiver((request, response) =>
      response.writeHead(307, { location: `/${Number(request.url.slice(1)) + 1}` }).end(),
    );
    const found = await post(client({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/0`);
    expect(found).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('more than 5 times') as string,
    });
    expect(received).toHaveLength(6);
  });

  test('without an address is an answer', async () => {
    const { port } = await receiver((_, response) => response.writeHead(302).end('where?'));
    expect(await post(client({ allow: ['127.0.0.1'] }), `http://127.0.0.1:${port}/`)).toEqual({
      kind: 'answered',
      status: 302,
      excerpt: 'where?',
    });
  });

  test('shares the time of the attempt', async () => {
    const { port } = await receiver((request, response) => {
      if (request.url === '/') response.writeHead(307, { location: '/slow' }).end();
    });
    expect(
      await post(client({ allow: ['127.0.0.1'], timeout: 200 }), `http://127.0.0.1:${port}/`),
    ).toEqual({
      kind: 'failed',
      message: 'no answer within 0.2 s',
    });
  });
});

describe('over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'outbound-'));
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
  const made = spawnSync('openssl', [
    ...[
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=secure.example',
    ],
    ...['-addext', 'subjectAltName=DNS:secure.example', '-keyout', files.key, '-out', files.cert],
  ]);
  afterAll(() => rmSync(folder, { recursive: true }));

  test.skipIf(made.status !== 0)('a connection is guarded, verified and reused', async () => {
    const certificate = readFileSync(files.cert, 'utf8');
    const sockets = new Set<unknown>();
    let down = '';
    const server = createTlsServer(
      { key: readFileSync(files.key), cert: certificate },
      (request, response) => {
        sockets.add(request.socket);
        if (down !== '') response.writeHead(307, { location: down });
        request.resume();
        request.on('end', () => response.end());
      },
    );
    const port = await listen(server);
    const url = `https://secure.example:${port}/`;
    expect(await post(client(), url)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('secure.example has an address') as string,
    });
    const to = client({ allow: [`secure.example:${port}`] });
    expect(await post(to, url)).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('self-signed') as string,
    });
    setDefaultCACertificates([...getCACertificates(), certificate]);
    expect(await post(to, url)).toMatchObject({ status: 200 });
    expect(await post(to, url)).toMatchObject({ status: 200 });
    expect(sockets.size).toBe(1);
    down = 'http://secure.example/';
    expect(await post(to, url)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('where everybody could read along') as string,
    });
    down = '';
    expect(
      await post(client({ allow: [`other.example:${port}`] }), `https://other.example:${port}/`),
    ).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('does not match') as string,
    });
  });
});
