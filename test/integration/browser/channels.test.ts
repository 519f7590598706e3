import { createECDH, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addInboxEntries } from '../../../platform/inbox/inbox-entries.ts';
import { trackedMessage } from '../../support/channels.ts';
import { addressesOf } from '../../support/channels/person.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  type TestAccount,
} from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { findChromium } from './find-chromium.ts';
import { hostPages } from './page-host.ts';
import { startPushService, type PushService } from './push-service.ts';

/**
 * What a browser does with channels. The subscription is Chromium's own, with keys that it made,
 * registered at a stand-in for its push service (push-service.ts). Its endpoint is always one of
 * fcm.googleapis.com: that a push arrives in the browser cannot be tested here.
 */
const ARGS = ['--no-sandbox', '--disable-gpu'];
const USER = 'مشتری';
/** A small phone. */
const PHONE = { width: 320, height: 568 };

const database = openPostgres();
let browser: Browser;
let pages: Awaited<ReturnType<typeof hostPages>>;
let account: TestAccount;
let message: Awaited<ReturnType<typeof trackedMessage>>;

beforeAll(async () => {
  const executablePath = findChromium(process.env);
  browser = await chromium.launch({ executablePath, args: ARGS });
  pages = await hostPages();
  account = await createAccount('فروشگاه');
  message = await trackedMessage(database, { accountId: account.accountId, userId: USER });
});
afterAll(async () => {
  await browser.close();
  await pages.close();
});

/** POST of JSON by a script of the page: what it reads. */
function postIn(
  page: Page,
  path: string,
  body: object,
): Promise<{ status: number; body: unknown }> {
  return page.evaluate(
    async ({ url, key, text }) => {
      const headers = { 'X-Service-Key': key, 'Content-Type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: text });
      return { status: response.status, body: await response.json() };
    },
    { url: `${readyStack().ingest_url}${path}`, key: account.writeKey, text: JSON.stringify(body) },
  );
}

const untilAddress = (waitingFor: string, probe: () => Promise<boolean>) =>
  eventually({ ms: 60_000, every: 500, waitingFor }, async () =>
    (await probe()) ? true : undefined,
  );

describe('a page of another origin', () => {
  it('reads the inbox of its user, and marks it as read', async () => {
    const { accountId } = account;
    const apps = await database.query<{ id: string }>('SELECT id FROM apps WHERE account_id = $1', [
      accountId,
    ]);
    const { inbox_secret } = await admin<{ inbox_secret: string }>(
      ...['app', 'secret', '--account', String(accountId), '--app-id', apps.rows[0]?.id ?? ''],
    );
    await addInboxEntries(database, [
      { accountId, userId: USER, id: 'm1', title: 'تخفیف', body: 'سلام', createdAt: Date.now() },
    ]);
    const user_hash = createHmac('sha256', inbox_secret).update(USER).digest('hex');
    const page = await browser.newPage();
    await page.goto(`${pages.origin}/inbox`);
    const inbox = (more: object) =>
      postIn(page, '/v1/inbox', { user_id: USER, user_hash, ...more });
    expect(await inbox({})).toMatchObject({
      status: 200,
      body: { messages: [{ id: 'm1', title: 'تخفیف', read: false }], unread: 1 },
    });
    expect((await inbox({ read: ['m1'] })).body).toMatchObject({ unread: 0 });
    expect(await inbox({ user_hash: 'ff'.repeat(32) })).toEqual({
      status: 403,
      body: { error: 'user identity is not verified' },
    });
    await page.close();
  });
});

/** A page of a message as a mail program opens it: without JavaScript, on a small phone. */
async function openMessagePage(path: string): Promise<{ page: Page; requested: string[] }> {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: PHONE });
  const page = await context.newPage();
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).origin));
  await page.goto(`${readyStack().ingest_url}${path}`);
  return { page, requested };
}

/** The page is as wide as the screen, reads from right to left and asks nobody else. */
async function expectReadable(page: Page, requested: readonly string[]): Promise<void> {
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl');
  const box = await page.locator('body').boundingBox();
  expect(box?.width).toBeLessThanOrEqual(PHONE.width);
  for (const button of await page.locator('button').all()) {
    const { x = -1, width = Infinity } = (await button.boundingBox()) ?? {};
    expect([x >= 0, x + width <= PHONE.width]).toEqual([true, true]);
  }
  expect(new Set(requested)).toEqual(new Set([new URL(readyStack().ingest_url).origin]));
}

describe('the pages of a message', () => {
  it('unsubscribe a person who clicks', async () => {
    const { unsubscribe: path } = message;
    const { page, requested } = await openMessagePage(path);
    await expectReadable(page, requested);
    await page.locator('button').click();
    await page.locator('[role=status]').waitFor();
    await expectReadable(page, requested);
    await untilAddress('the consent', async () => {
      const { consents } = await addressesOf(account.accountId, USER);
      return consents['email'] === 'unsubscribed';
    });
    await page.context().close();
  });

  it('toggle a preference, there and back', async () => {
    const { preferences: path } = message;
    for (const state of ['subscribed', 'unsubscribed']) {
      const { page, requested } = await openMessagePage(path);
      const box = page.locator('input[type=checkbox][value=email]');
      expect(await box.isChecked()).toBe(state === 'unsubscribed');
      await expectReadable(page, requested);
      await box.click();
      await page.locator('button').click();
      await page.locator('[role=status]').waitFor();
      expect(await box.isChecked()).toBe(state === 'subscribed');
      await untilAddress('the consent', async () => {
        const { consents } = await addressesOf(account.accountId, USER);
        return consents['email'] === state;
      });
      await page.context().close();
    }
  });
});

interface Subscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

/** What a page with a service worker has; this process has not. */
interface PushGlobals {
  navigator: {
    serviceWorker: {
      register(url: string): Promise<unknown>;
      ready: Promise<{
        pushManager: {
          subscribe(options: object): Promise<{ toJSON(): Subscription }>;
        };
      }>;
    };
  };
}

describe('the Push API of Chromium', () => {
  let service: PushService;
  let profile: string;

  beforeAll(async () => {
    service = await startPushService();
    profile = await mkdtemp(join(tmpdir(), 'ravand-chromium-'));
  });
  afterAll(async () => {
    await service.close();
    await rm(profile, { recursive: true, force: true });
  });

  it('makes a subscription that becomes an address of the user, and ends', async () => {
    // Private windows, which contexts of a browser are, have no push: a profile of its own has.
    const context = await chromium.launchPersistentContext(profile, {
      ...{ executablePath: findChromium(process.env), args: [...ARGS, ...service.switches] },
      ignoreDefaultArgs: ['--disable-background-networking'],
    });
    try {
      await context.grantPermissions(['notifications'], { origin: pages.origin });
      const page = await context.newPage();
      await page.goto(`${pages.origin}/product`);
      const ecdh = createECDH('prime256v1');
      const key = ecdh.generateKeys().toString('base64url');
      const subscription = await page.evaluate(async (applicationServerKey) => {
        const { navigator } = globalThis as unknown as PushGlobals;
        await navigator.serviceWorker.register('/worker.js');
        const { pushManager } = await navigator.serviceWorker.ready;
        const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
        return made.toJSON();
      }, key);
      expect(service.tokens.some((token) => subscription.endpoint.includes(token))).toBe(true);

      const user_id = 'browser user';
      const subscribed = await postIn(page, '/v1/webpush/subscribe', { user_id, subscription });
      expect(subscribed).toEqual({ status: 200, body: { status: 'ok' } });
      const { accountId } = account;
      const browsersOf = async () => (await addressesOf(accountId, user_id)).addresses;
      await untilAddress('the subscription', async () => (await browsersOf()).length === 1);
      expect(await browsersOf()).toMatchObject([
        { channel: 'web', kind: 'browser', id: subscription.endpoint, active: true, reason: '' },
      ]);
      const { endpoint } = subscription;
      await postIn(page, '/v1/webpush/unsubscribe', { endpoint });
      await untilAddress('the end', async () => (await browsersOf())[0]?.active === false);
    } finally {
      await context.close();
    }
  });
});
