import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../integration/browser/find-chromium.ts';
import { readyStack } from '../../support/stack.ts';
import { makeAccount, makeMember, type Member } from './panel.ts';

let browser: Browser;
let foreign: Server;
let member: Member;
beforeAll(async () => {
  // Chromium refuses its sandbox to root, and containers often have none.
  browser = await chromium.launch({
    executablePath: findChromium(process.env),
    args: ['--no-sandbox', '--disable-gpu'],
  });
  foreign = createServer((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>foreign</title>'),
  );
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
  member = await makeMember(await makeAccount(), 'owner');
});
afterAll(async () => {
  await browser.close();
  foreign.close();
});

/** A page of the panel's origin that sends nothing by itself: an answer of its own in JSON. */
const panelPage = () => `${readyStack().panel_url}/api`;

interface Sending {
  method: string;
  path: string;
  body?: object;
  /** What a foreign script may send without asking first. */
  simply?: boolean;
}

/** A page, and a way to see what the panel answered to it: scripts of other sites may not. */
async function open(context: BrowserContext, url: string) {
  const page = await context.newPage();
  await page.goto(url);
  return {
    page,
    send: async (sending: Sending): Promise<number> => {
      const seen = page.waitForResponse(
        (response) => response.url() === `${readyStack().panel_url}${sending.path}`,
        { timeout: 15_000 },
      );
      await fetchIn(page, { ...sending, panel: readyStack().panel_url });
      return (await seen).status();
    },
  };
}

/** fetch in the page, with its cookies; errors are those of what the script may not read. */
function fetchIn(page: Page, sending: Sending & { panel: string }): Promise<void> {
  return page.evaluate(async ({ method, path, body, simply, panel }) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const how =
      simply === true
        ? { mode: 'no-cors' as const }
        : { headers: { 'content-type': 'application/json' } };
    await fetch(`${panel}${path}`, { method, credentials: 'include', ...sent, ...how }).catch(
      () => undefined,
    );
  }, sending);
}

const credentials = () => ({ email: member.email, password: member.password });
const relay = { name: 'n', url: 'https://x.example', events: [], filters: [], enabled: false };

describe('in a browser', () => {
  it('the page of the panel signs in, works and signs out, and its scripts never see the cookie', async () => {
    const context = await browser.newContext();
    const { page, send } = await open(context, panelPage());
    expect(await send({ method: 'GET', path: '/api/session' })).toBe(401);
    expect(await send({ method: 'POST', path: '/api/session', body: credentials() })).toBe(200);
    const cookie = (await context.cookies()).find(({ name }) => name === 'service_session');
    expect(cookie).toMatchObject({
      name: 'service_session',
      httpOnly: true,
      sameSite: 'Strict',
      path: '/',
    });
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(await send({ method: 'PUT', path: '/api/proxy/v1/relays', body: relay })).toBe(200);
    expect(await send({ method: 'GET', path: '/api/proxy/v1/relays' })).toBe(200);
    expect(await send({ method: 'DELETE', path: '/api/session' })).toBe(204);
    // what stays is no credential: the device, whose attempts to sign in count by themselves
    expect((await context.cookies()).map(({ name }) => name)).toEqual(['service_device']);
    await context.close();
  });

  // 127.0.0.1 is another site than localhost; another port of localhost is the same site, whose
  // requests carry the cookie.
  it.each(['127.0.0.1', 'localhost'])(
    'a page of %s changes nothing, signed in or not',
    async (host) => {
      const context = await browser.newContext();
      const own = await open(context, panelPage());
      const other = await open(
        context,
        `http://${host}:${(foreign.address() as AddressInfo).port}/`,
      );
      expect(
        await other.send({
          method: 'POST',
          path: '/api/session',
          body: credentials(),
          simply: true,
        }),
      ).toBe(403);
      expect(await context.cookies()).toEqual([]);
      expect(await own.send({ method: 'POST', path: '/api/session', body: credentials() })).toBe(
        200,
      );
      expect(
        await other.send({ method: 'POST', path: '/api/proxy/v1/relays/1/retry', simply: true }),
      ).toBe(403);
      // What is not simple is asked for first, and nobody answers that.
      await fetchIn(other.page, {
        method: 'DELETE',
        path: '/api/session',
        panel: readyStack().panel_url,
      });
      await fetchIn(other.page, {
        method: 'PUT',
        path: '/api/proxy/v1/relays',
        body: relay,
        panel: readyStack().panel_url,
      });
      expect(await own.send({ method: 'GET', path: '/api/session' })).toBe(200);
      await context.close();
    },
  );
});
