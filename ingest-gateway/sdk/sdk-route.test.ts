import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BodyBudget } from '../http/body.ts';
import { readSdkFiles } from './sdk-files.ts';
import { SDK_PATH, sdkRoute } from './sdk-route.ts';

const CORE = 'window.ravand={}';
const ENTRY = 'export const open=()=>{}';
const folder = mkdtempSync(join(tmpdir(), 'sdk-files-'));
const answered: [string, number][] = [];
let origin: string;
let close: () => void;

beforeAll(async () => {
  const files = { 'v1.js': CORE, 'onsite.abc123.js': ENTRY };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, `${name}.map`), '{}');
  }
  const manifest = { release: 'abc123', files: Object.keys(files).map((name) => ({ name })) };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const route = sdkRoute({
    files: await readSdkFiles(folder),
    turns: new BodyBudget(1 << 20).turns,
    isClosing: () => false,
    onAnswered: (path, status) => answered.push([path, status]),
  });
  const server = createServer((request, response) => {
    const file = decodeURIComponent((request.url ?? '').replace('/sdk/', ''));
    void route.serve({ file }, { request, response });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => server.close();
});
afterAll(() => {
  close();
  rmSync(folder, { recursive: true });
});

/** As sent: fetch would decode it. */
async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    httpRequest(`${origin}${path}`, { headers }, (response) => {
      const { statusCode: status, headers } = response;
      void buffer(response).then((body) => resolve({ status, headers, body }));
    })
      .on('error', reject)
      .end();
  });
}

describe('the core', () => {
  it('is a script for pages of any origin, kept for minutes', async () => {
    const { status, headers, body } = await get('/sdk/v1.js');
    expect(status).toBe(200);
    expect(body.toString()).toBe(CORE);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      sourcemap: 'v1.js.map',
      vary: 'Accept-Encoding',
    });
    expect(headers['cache-control']).toMatch(/^public, max-age=300,/);
    expect(headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is not sent again to a browser that has it', async () => {
    const { etag = '' } = (await get('/sdk/v1.js')).headers;
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, headers, body } = await get('/sdk/v1.js', { 'If-None-Match': tag });
      expect([status, body.length, headers.etag]).toEqual([304, 0, etag]);
      expect(headers['cache-control']).toMatch(/max-age/);
    }
    expect((await get('/sdk/v1.js', { 'If-None-Match': '"other"' })).status).toBe(200);
  });

  it.each([
    ['gzip, deflate, br', true],
    ['br;q=1.0, gzip;q=0.8', true],
    ['gzip;q=0', false],
    ['gzip;q=0.0, br', false],
    ['x-gzip2', false],
    ['', false],
  ])('with Accept-Encoding %j it is compressed: %s', async (accepted, isGzip) => {
    const { headers, body } = await get('/sdk/v1.js', { 'Accept-Encoding': accepted });
    expect(headers['content-encoding']).toBe(isGzip ? 'gzip' : undefined);
    expect((isGzip ? gunzipSync(body) : body).toString()).toBe(CORE);
    expect(headers['content-length']).toBe(String(body.length));
    expect(headers.etag?.endsWith('-gzip"')).toBe(isGzip);
  });
});

describe('a file that is loaded on demand', () => {
  it('is kept for ever under the name of its content', async () => {
    const { status, headers } = await get('/sdk/onsite.abc123.js');
    expect([status, headers['cache-control']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ]);
  });

  it('of another release is the one of this release, and not kept', async () => {
    const { status, headers, body } = await get('/sdk/onsite.0123456789.js');
    expect([status, body.toString()]).toEqual([200, ENTRY]);
    expect(headers['cache-control']).toMatch(/^public, max-age=300,/);
  });
});

it.each([
  ...['/sdk/', '/sdk/v2.js', '/sdk/manifest.json', '/sdk/onsite.js', '/sdk/v1.0123.js'],
  ...['/sdk/onsite.xyz!.js', '/sdk/onsite.abc.js.map', '/sdk/..%2Fmanifest.json'],
])('%s is not found', async (path) => {
  const { status, headers, body } = await get(path);
  expect([status, body.toString(), headers['content-type']]).toEqual([
    404,
    'not found\n',
    'text/plain; charset=utf-8',
  ]);
});

it('every answer is counted by its route', () => {
  expect(answered.length).toBeGreaterThan(10);
  expect(new Set(answered.map(([path]) => path))).toEqual(new Set([SDK_PATH]));
  expect(new Set(answered.map(([, status]) => status))).toEqual(new Set([200, 304, 404]));
});

it('files that are not whole are not read', async () => {
  await expect(readSdkFiles(join(folder, 'nothing'))).rejects.toThrow(/ENOENT/);
});
