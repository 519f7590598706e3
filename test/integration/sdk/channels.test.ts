import { createECDH, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addInboxEntries } from '../../../platform/inbox/inbox-entries.ts';
import { adminWithInput } from '../../support/admin-input.ts';
import { addressesOf } from '../../support/channels/person.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { findChromium } from '../browser/find-chromium.ts';
import { startPushService, type PushService } from '../browser/push-service.ts';
import { flush, launch, openPage, openShop, track, type Shop, type ShopWindow } from './shop.ts';

const USER = 'مشتری';
const SURVEY = {
  ...{ name: 'نظرسنجی', kind: 'survey', content: { title: 'چطور بود؟' }, frequency: 'once' },
  fields: [{ name: 'score', type: 'rating', label: 'امتیاز', required: true }],
};

const client = openClickhouse();
const database = openPostgres();
const profile = mkdtempSync(join(tmpdir(), 'ravand-chromium-'));
let account: TestAccount;
let browser: Browser;
let shop: Shop;
let service: PushService;

beforeAll(async () => {
  account = await createAccount('channels of the SDK');
  // Gateways follow campaigns: it is there some time later.
  await adminWithInput(SURVEY, ...['onsite', 'create', '--account', String(account.accountId)]);
  shop = await openShop(readyStack().ingest_url, account.writeKey);
  browser = await launch();
  service = await startPushService();
});
afterAll(async () => {
  await browser.close();
  await Promise.all([shop.close(), service.close(), client.close()]);
  rmSync(profile, { recursive: true, force: true });
});

const identify = (page: Page) =>
  page.evaluate((user) => (globalThis as ShopWindow).ravand.identify(user), USER);

/** Private windows, which contexts of a browser are, have no push: a profile of its own has. */
async function openProfile(): Promise<BrowserContext> {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium(process.env),
    args: ['--no-sandbox', '--disable-gpu', ...service.switches],
    ignoreDefaultArgs: ['--disable-background-networking'],
  });
  await context.grantPermissions(['notifications'], { origin: shop.origin });
  return context;
}

it('web push: a click subscribes the user, messages are shown and lead to their page', async () => {
  const publicKey = createECDH('prime256v1').generateKeys().toString('base64url');
  shop.options = { webPush: { publicKey } };
  const context = await openProfile();
  try {
    const page = await openPage(context, `${shop.origin}/`);
    await identify(page);
    const isSubscribed = await page.evaluate(async () =>
      (await (globalThis as ShopWindow).ravand.webPush()).subscribe(),
    );
    expect(isSubscribed).toBe(true);
    const browsers = async () => (await addressesOf(account.accountId, USER)).addresses;
    const untilAddress = (isActive: boolean) =>
      eventually({ ms: 60_000, every: 500, waitingFor: 'the address' }, async () => {
        const [address] = await browsers();
        return address?.active === isActive ? address : undefined;
      });
    const address = await untilAddress(true);
    expect(address).toMatchObject({ channel: 'web', kind: 'browser' });
    expect(service.tokens.some((token) => address.id.includes(token))).toBe(true);

    const [worker] = context.serviceWorkers();
    if (!worker) throw new Error('there is no service worker');
    const shown = worker.evaluate(nextNotification);
    await push(page, { title: 'تخفیف', body: 'تا فردا', url: '/sale', sg_mid: 'm-7' });
    expect(await shown).toEqual(['تخفیف', 'تا فردا']);
    expect(await worker.evaluate(openedByClick)).toBe(`${shop.origin}/sale?sg_mid=m-7`);

    await page.evaluate(async () =>
      (await (globalThis as ShopWindow).ravand.webPush()).unsubscribe(),
    );
    await untilAddress(false);
  } finally {
    await context.close();
  }
});

/** As the push service of the browser does. */
async function push(page: Page, payload: object): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      for (const { registrationId } of registrations) resolve(registrationId);
    });
  });
  await session.send('ServiceWorker.enable');
  const message = { origin: shop.origin, registrationId: await registered };
  const data = JSON.stringify(payload);
  await session.send('ServiceWorker.deliverPushMessage', { ...message, data });
}

interface Notification {
  title: string;
  body: string;
}
/** What a service worker has; this process has not. */
interface WorkerGlobals {
  registration: {
    showNotification(title: string, options: object): Promise<void>;
    getNotifications(): Promise<Notification[]>;
  };
  clients: { openWindow(url: string): Promise<void> };
  dispatchEvent(event: unknown): void;
  NotificationEvent: new (type: string, init: { notification: Notification }) => unknown;
}

/**
 * The next one that the worker shows, when it is there: Chromium forgets one for whose list it is
 * asked while it is being shown.
 */
function nextNotification(): Promise<string[]> {
  const { registration } = globalThis as unknown as WorkerGlobals;
  const show = registration.showNotification.bind(registration);
  return new Promise((resolve) => {
    registration.showNotification = async (title, options) => {
      await show(title, options);
      const [notification] = await registration.getNotifications();
      resolve([notification?.title ?? '', notification?.body ?? '']);
    };
  });
}

/** The address that the worker opens. Chromium without a window cannot be clicked in. */
async function openedByClick(): Promise<string> {
  const worker = globalThis as unknown as WorkerGlobals;
  const [notification] = await worker.registration.getNotifications();
  if (!notification) return 'no notification';
  return new Promise((resolve) => {
    worker.clients.openWindow = (url) => {
      resolve(url);
      return Promise.resolve();
    };
    worker.dispatchEvent(new worker.NotificationEvent('notificationclick', { notification }));
  });
}

it('the inbox: its user reads it and marks it as read, and nobody else does', async () => {
  const { accountId } = account;
  const apps = await database.query<{ id: string }>('SELECT id FROM apps WHERE account_id = $1', [
    accountId,
  ]);
  const { inbox_secret } = await admin<{ inbox_secret: string }>(
    ...['app', 'secret', '--account', String(accountId), '--app-id', apps.rows[0]?.id ?? ''],
  );
  await addInboxEntries(
    database,
    ['m1', 'm2'].map((id, at) => ({
      ...{ accountId, userId: USER, id, title: 'تخفیف', body: 'سلام', createdAt: Date.now() + at },
    })),
  );
  shop.options = {};
  const page = await openPage(await browser.newContext(), `${shop.origin}/`);
  await identify(page);
  const user_hash = createHmac('sha256', inbox_secret).update(USER).digest('hex');
  const read = (hash: string) =>
    page.evaluate(async (proof) => {
      const inbox = await (globalThis as ShopWindow).ravand.inbox(() => ({ user_hash: proof }));
      const [newest] = (await inbox.list({ limit: 1 })).messages;
      const older = await inbox.list({ before: newest?.id ?? '' });
      const one = await inbox.markRead([newest?.id ?? '']);
      const all = await inbox.markAllRead();
      return [newest?.id, older.messages.map(({ id }) => id), one.unread, all.unread];
    }, hash);
  expect(await read(user_hash)).toEqual(['m2', ['m1'], 1, 0]);
  await expect(read('ff'.repeat(32))).rejects.toThrow(
    'the host answered 403 user identity is not verified',
  );
  await page.context().close();
});

it('an on-site survey is shown, and its answers are an event of the visitor', async () => {
  shop.options = { onsite: true };
  const context = await browser.newContext();
  await eventually({ ms: 90_000, waitingFor: 'the campaign' }, async () => {
    const query = new URLSearchParams({ write_key: account.writeKey, anonymous_id: 'nobody' });
    const listed = await fetch(`${readyStack().ingest_url}/v1/onsite?${query.toString()}`);
    return ((await listed.json()) as { campaigns: object[] }).campaigns.length > 0
      ? true
      : undefined;
  });
  const page = await openPage(context, `${shop.origin}/`);
  const survey = page.getByRole('region', { name: 'چطور بود؟' });
  await survey.getByRole('radio', { name: '۴' }).click();
  await survey.getByRole('button', { name: 'فرستادن' }).click();
  await survey.getByRole('status').waitFor();
  await track(page, 'after');
  await flush(page);
  const anonymous = await page.evaluate(() => (globalThis as ShopWindow).ravand.anonymousId());
  const found = await eventually({ ms: 60_000, waitingFor: 'the events' }, async () => {
    const stored = await rows<{ event: string; score: string }>(
      client,
      `SELECT event, properties['score'] AS score FROM events
       WHERE account_id = {id:UInt64} AND anonymous_id = {anonymous:String} ORDER BY event`,
      { id: account.accountId, anonymous },
    );
    return stored.length >= 4 ? stored : undefined;
  });
  expect(found).toEqual([
    { event: 'after', score: '' },
    { event: 'onsite_shown', score: '' },
    { event: 'onsite_submitted', score: '4' },
    { event: 'page_viewed', score: '' },
  ]);
  await context.close();
});
