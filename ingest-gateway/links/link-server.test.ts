import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Turns } from '../../platform/http/turns.ts';
import { LinkServer } from './link-server.ts';

let now: number;
let isDown: boolean;
let queries: number;
let clicks: string[];
let server: Server;

beforeEach(async () => {
  now = 0;
  isDown = false;
  queries = 0;
  clicks = [];
  const links = new LinkServer({
    turns: new Turns({ perRound: 2 }),
    store: {
      targets: () => {
        queries++;
        return isDown
          ? Promise.reject(new Error('down'))
          : Promise.resolve(new Map([['AAAAAAA', 'https://x.ir/']]));
      },
    },
    clicks: { add: (code) => clicks.push(code) },
    now: () => now,
    isClosing: () => false,
    onAnswered: () => undefined,
  });
  server = createServer(
    (request, response) => void links.serve(request.url?.slice(3) ?? '', { request, response }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function visit(code: string): Promise<[number, string | null]> {
  const answer = await fetch(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/s/${code}`,
    { redirect: 'manual' },
  );
  return [answer.status, answer.headers.get('location')];
}

describe('a short link', () => {
  it('is looked up once a minute', async () => {
    for (let time = 0; time < 3; time++)
      expect(await visit('AAAAAAA')).toEqual([302, 'https://x.ir/']);
    expect(queries).toBe(1);
    now = 60_000;
    await visit('AAAAAAA');
    expect(queries).toBe(2);
    expect(clicks).toHaveLength(4);
  });

  it('is a plain 404 when it cannot be looked up, and still redirects when it is cached', async () => {
    isDown = true;
    expect(await visit('AAAAAAA')).toEqual([404, null]);
    isDown = false;
    expect(await visit('AAAAAAA')).toEqual([302, 'https://x.ir/']);
    isDown = true;
    now = 60_000;
    expect(await visit('AAAAAAA')).toEqual([302, 'https://x.ir/']);
  });

  it('is not looked up when its code is invalid', async () => {
    expect(await visit('UUUUUUU')).toEqual([404, null]);
    expect(queries).toBe(0);
    expect(clicks).toEqual([]);
  });
});
