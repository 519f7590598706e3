import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, ServiceProcess } from '../../support/service-process.ts';
import { readyStack } from '../../support/stack.ts';
import { call, makeAccount, makeMember, signIn, type Member, type Reply } from './panel.ts';

let service: ServiceProcess;
let base: string;
let owner: Member;

/** A control plane behind a proxy, so that the test chooses the address of each client. */
beforeAll(async () => {
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  service = new ServiceProcess('control-plane/main.ts', {
    env: { PANEL_ADDR: `127.0.0.1:${port}`, PANEL_URL: '', TRUSTED_PROXIES: '127.0.0.1,::1' },
  });
  owner = await makeMember(await makeAccount(), 'owner');
  await service.untilLogged(/the panel is served/);
});
afterAll(() => service.end('SIGTERM'));

const from = (ip: string, password: string): Promise<Reply> =>
  signIn({ ...owner, password }, { base, headers: { 'x-forwarded-for': ip } });

const statuses = (replies: readonly Reply[]) =>
  [...new Set(replies.map(({ status }) => status))].toSorted();

describe('a stranger who guesses the password of a member', () => {
  it('is refused in their own network, from every address of it, longer the more they try', async () => {
    const hosts = Array.from({ length: 30 }, (_, host) => `192.0.2.${host + 1}`);
    const replies = await Promise.all(hosts.map((host) => from(host, 'guess')));
    expect(statuses(replies)).toEqual([401, 429]);
    expect(replies.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(6);
    const first = Number(replies.find(({ status }) => status === 429)?.headers['retry-after']);
    // Waiting ends every pause; the attempts meanwhile have lengthened the next one.
    await new Promise((resolve) => setTimeout(resolve, first * 1000 + 50));
    expect((await from('192.0.2.99', 'guess')).status).toBe(401);
    const refused = await from('192.0.2.200', owner.password);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(60);
  });

  it('does not lock the member out, who signs in from another network meanwhile', async () => {
    for (let time = 0; time < 5; time++) {
      expect((await from('192.0.2.1', 'guess')).status).toBe(429);
      expect((await from('198.51.100.7', owner.password)).status).toBe(200);
      expect((await from('2001:db8:1:2::7', owner.password)).status).toBe(200);
    }
  });

  it('does not delay the member on a device that they have signed in from, in the same network', async () => {
    const device = (reply: Reply) =>
      [reply.headers['set-cookie'] ?? []]
        .flat()
        .map((line) => line.split(';')[0] ?? '')
        .find((pair) => pair.startsWith('service_device=')) ?? '';
    const own = (cookie: string, password = owner.password) =>
      signIn({ ...owner, password }, { base, headers: { 'x-forwarded-for': '192.0.3.7', cookie } });
    const first = await own('');
    expect(first.status).toBe(200);
    const hosts = Array.from({ length: 30 }, (_, host) => `192.0.3.${host + 100}`);
    const strangers = await Promise.all(hosts.map((host) => from(host, 'guess')));
    const pause = Number(strangers.find(({ status }) => status === 429)?.headers['retry-after']);
    await new Promise((resolve) => setTimeout(resolve, pause * 1000 + 50));
    // begins a pause of minutes
    expect((await from('192.0.3.200', 'guess')).status).toBe(401);
    expect((await own('')).status).toBe(429);
    const second = await own(device(first));
    expect(second.status).toBe(200);
    // each sign-in gives the device a new token; the one before and those of others are nothing
    expect((await own(device(first))).status).toBe(429);
    expect((await own(`service_device=${'A'.repeat(43)}`)).status).toBe(429);
    // guesses from the device count, and delay only the device
    const cookie = device(second);
    const guesses = await Promise.all(Array.from({ length: 12 }, () => own(cookie, 'guess')));
    expect(statuses(guesses)).toEqual([401, 429]);
    expect((await from('198.51.100.8', owner.password)).status).toBe(200);
  });

  it('does not keep the member out with a flood from many addresses of many networks', async () => {
    const flood: Promise<Reply>[] = [];
    const member: Reply[] = [];
    for (let round = 0; round < 10; round++) {
      for (let n = 0; n < 30; n++) {
        const email = `nobody-${round}-${n}@test.example`;
        const headers = { 'x-forwarded-for': `10.${round}.${n % 3}.${n}` };
        flood.push(signIn({ email, password: 'guess' }, { base, headers }));
      }
      member.push(await from('198.51.100.9', owner.password));
    }
    expect(statuses(member)).toEqual([200]);
    for (const status of statuses(await Promise.all(flood)))
      expect([401, 429, 503]).toContain(status);
  });

  it('cannot fill Redis with addresses while their network is refused', async () => {
    const redis = new Redis(readyStack().redis_url);
    try {
      const guess = (n: number) =>
        signIn(
          { email: `filling-${n}@test.example`, password: 'guess' },
          { base, headers: { 'x-forwarded-for': '10.99.0.1' } },
        );
      const counted = async () => (await redis.keys('guesses:email:*')).length;
      // Ends within a few hundred: 99 failures are free, then the network pauses.
      for (let n = 0; n < 500; n++) if ((await guess(n)).status === 429) break;
      const before = await counted();
      const replies = await Promise.all(Array.from({ length: 200 }, (_, n) => guess(1000 + n)));
      const checked = replies.filter(({ status }) => status !== 429).length;
      expect((await counted()) - before).toBeLessThanOrEqual(checked);
      expect(checked).toBeLessThan(20);
    } finally {
      redis.disconnect();
    }
  });

  it('learns from no answer whether an address is a member', async () => {
    const known = await from('10.20.30.1', 'guess');
    const headers = { 'x-forwarded-for': '10.20.31.1' };
    const unknown = await call('POST', '/api/session', {
      ...{ base, headers, body: { email: 'nobody@test.example', password: 'guess' } },
    });
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
    expect(Object.keys(unknown.headers)).toEqual(Object.keys(known.headers));
  });
});
