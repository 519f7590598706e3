import { afterEach, beforeEach, expect, it } from 'vitest';
import { MESSAGE, serveRoutes, tokens } from '../tracking/testing/serve-routes.ts';
import { openPixelRoute, type Open } from './open-pixel.ts';

const TOKEN = tokens.write('open', MESSAGE);
const PERSON =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

let opens: Open[];
let site: Awaited<ReturnType<typeof serveRoutes>>;

beforeEach(async () => {
  opens = [];
  site = await serveRoutes([openPixelRoute((open) => opens.push(open))]);
});
afterEach(() => site.close());

function load(token: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${site.origin}/e/o/${token}`, {
    ...init,
    headers: { 'User-Agent': PERSON, ...(init.headers as Record<string, string>) },
  });
}

it('an open pixel is an image of 43 bytes that nothing keeps, and the open is recorded', async () => {
  const answer = await load(TOKEN, { headers: { 'X-Service-Trace': 'abcdef0123456789' } });
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.status).toBe(200);
  expect([bytes.length, bytes.toString('latin1', 0, 6)]).toEqual([43, 'GIF89a']);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/gif',
    'content-length': '43',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-service-trace': 'abcdef0123456789',
  });
  expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  expect(opens).toEqual([
    {
      ...MESSAGE,
      ...{ by: 'person', isProxy: false, ip: '127.0.0.1', userAgent: PERSON },
      ...{ receivedAt: 1000, trace: 'abcdef0123456789' },
    },
  ]);
});

it('an open by a proxy or a bot is recorded as such', async () => {
  await load(TOKEN, { headers: { 'User-Agent': '(via ggpht.com GoogleImageProxy)' } });
  await load(TOKEN, { headers: { 'User-Agent': 'python-requests/2.32.3' } });
  await load(TOKEN, { headers: { Purpose: 'prefetch' } });
  expect(opens.map(({ by, isProxy }) => [by, isProxy])).toEqual([
    ['proxy', true],
    ['bot', true],
    ['proxy', true],
  ]);
});

it('a HEAD has the headers of the image and is no open', async () => {
  const answer = await load(TOKEN, { method: 'HEAD' });
  expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '43']);
  expect(opens).toEqual([]);
});

it('a failure to record an open harms nobody', async () => {
  const failing = await serveRoutes([
    openPixelRoute(() => {
      throw new Error('full');
    }),
  ]);
  for (let time = 0; time < 2; time++)
    expect((await fetch(`${failing.origin}/e/o/${TOKEN}`)).status).toBe(200);
  failing.close();
});

it('an invalid token is a plain 404, and so is one for another purpose', async () => {
  for (const token of ['x', TOKEN.slice(1), tokens.write('unsubscribe', MESSAGE)]) {
    const answer = await load(token);
    expect([answer.status, await answer.text()]).toEqual([404, 'not found\n']);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  }
  expect(opens).toEqual([]);
});
