import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRecordingHost, type RecordingHost } from './recording-host.ts';
import * as shops from './shop.ts';
import type { ShopWindow } from './shop.ts';

/** Campaigns are looked at: each kind leaves a picture here. */
const PICTURES = join(import.meta.dirname, '../../../.ravand/pictures');
const PHONE = { width: 360, height: 640 };

let host: RecordingHost;
let shop: shops.Shop;
let browser: Browser;
let context: BrowserContext;
let complaints: string[];

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  browser = await shops.launch();
});
afterAll(() => browser.close());
beforeEach(async () => {
  host = await startRecordingHost(shops.builtSdk());
  shop = await shops.openShop(host.url);
  shop.options = { onsite: true, autoPage: true };
  // The policy of a page that allows scripts of two hosts, and no styles.
  const sources = `'unsafe-inline' ${host.url}`;
  shop.headers = {
    'content-security-policy': `default-src 'none'; script-src ${sources}; connect-src ${host.url}; frame-src 'self'`,
  };
  context = await browser.newContext({ viewport: PHONE });
  complaints = [];
  context.on('console', (message) => complaints.push(message.text()));
});
afterEach(async () => {
  await context.close();
  await Promise.all([shop.close(), host.close()]);
});

const POPUP = {
  ...{ id: 7, kind: 'popup', frequency: 'always' },
  content: {
    title: 'تخفیف یلدا',
    body: 'تا پایان هفته ۲۰٪ ارزان‌تر',
    button: { label: 'دیدن', url: '#sale' },
  },
};
const FIELDS = [
  { name: 'score', type: 'rating', label: 'امتیاز شما', required: true },
  { name: 'age', type: 'number', label: 'سن' },
  { name: 'why', type: 'text', label: 'چرا؟' },
  { name: 'how', type: 'choice', label: 'چطور با ما آشنا شدید؟', options: ['دوستان', 'اینترنت'] },
];
const SURVEY = {
  id: 8,
  kind: 'survey',
  frequency: 'once',
  content: { title: 'چطور بود؟' },
  fields: FIELDS,
};

const open = () => shops.openPage(context, `${shop.origin}/`);
const box = (page: Page): Locator => page.locator('[data-ravand] .box');
const actions = () =>
  host.posted.filter(({ path }) => path === '/v1/onsite/event').map(({ body }) => body['action']);
const isShown = (page: Page) => box(page).count();

describe('a popup', () => {
  it('is a modal dialog with a name, from right to left, that Escape closes', async () => {
    const page = await open();
    await page.focus('#button');
    host.campaigns = [POPUP];
    await page.evaluate(() => (globalThis as ShopWindow).ravand.page());
    const dialog = page.getByRole('dialog', { name: 'تخفیف یلدا' });
    await dialog.waitFor();
    expect(await directionOf(box(page))).toBe('rtl');
    expect(await box(page).getAttribute('lang')).toBe('fa');
    expect(await dialog.getByRole('link', { name: 'دیدن' }).getAttribute('href')).toMatch(/#sale$/);
    await page.screenshot({ path: join(PICTURES, 'onsite-popup.png') });
    // The focus is within, and stays there.
    for (let tabs = 0; tabs < 5; tabs++) {
      await page.keyboard.press('Tab');
      const active = await page.evaluate(
        () => (globalThis as unknown as Doc).document.activeElement?.dataset['ravand'],
      );
      expect(['popup', undefined]).toContain(active);
      expect(active ?? (await activeTag(page))).not.toBe('BUTTON');
    }
    await page.keyboard.press('Escape');
    await expect.poll(() => isShown(page)).toBe(0);
    expect(await activeTag(page)).toBe('BUTTON');
    await expect.poll(actions).toEqual(['shown', 'dismissed']);
    expect(complaints).toEqual([]);
  });

  it('in another language is from left to right, and its link counts as a click', async () => {
    const content = { ...POPUP.content, title: 'Sale', lang: 'en', close: 'Close', color: '#060' };
    host.campaigns = [{ ...POPUP, content }];
    const page = await open();
    await page.getByRole('dialog', { name: 'Sale' }).waitFor();
    expect(await directionOf(box(page))).toBe('ltr');
    await page.screenshot({ path: join(PICTURES, 'onsite-popup-ltr.png') });
    await page.getByRole('link', { name: 'دیدن' }).click();
    await expect.poll(actions).toEqual(['shown', 'clicked']);
    expect(page.url()).toMatch(/#sale$/);
    const [shown] = host.posted;
    expect(shown?.body).toMatchObject({
      ...{ campaign_id: 7, action: 'shown' },
      anonymous_id: await page.evaluate(() => (globalThis as ShopWindow).ravand.anonymousId()),
      message_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
  });

  it('shows markup as text, and no address that is a script', async () => {
    const evil = '<img src=x onerror="window.evil=1">';
    const content = {
      ...{ title: evil, body: evil, html: evil, close: evil },
      ...{ image: { url: 'javascript:window.evil=1', alt: evil } },
      button: { label: evil, url: ' javascript:window.evil=1' },
    };
    host.campaigns = [{ ...POPUP, content }];
    const page = await open();
    await page.getByRole('dialog').waitFor();
    expect(await box(page).locator('img, iframe, a').count()).toBe(0);
    expect(await box(page).locator('h2').textContent()).toBe(evil);
    await box(page).locator('button').first().click();
    expect(await page.evaluate(() => 'evil' in globalThis)).toBe(false);
  });

  it('shows HTML where the page allows it, in a frame without scripts', async () => {
    shop.options = { onsite: { allowHtml: true } };
    const html = '<b>سلام</b><script>parent.evil=1</script>';
    host.campaigns = [{ ...POPUP, content: { title: 'ت', html } }];
    const page = await open();
    const frame = box(page).locator('iframe');
    await frame.waitFor();
    expect(await frame.getAttribute('sandbox')).toBe('allow-popups');
    expect(await frame.contentFrame().locator('b').textContent()).toBe('سلام');
    expect(await page.evaluate(() => 'evil' in globalThis)).toBe(false);
  });
});

describe('a banner', () => {
  it('is a region that leaves the page usable, and looks the same on every page', async () => {
    host.campaigns = [{ ...POPUP, kind: 'banner' }];
    const page = await open();
    const banner = page.getByRole('region', { name: 'تخفیف یلدا' });
    await banner.waitFor();
    await page.screenshot({ path: join(PICTURES, 'onsite-banner.png') });
    const { x = -1, y = -1, width = 0, height = 0 } = (await banner.boundingBox()) ?? {};
    expect([x >= 0, x + width <= PHONE.width]).toEqual([true, true]);
    expect([y > PHONE.height / 2, y + height <= PHONE.height]).toEqual([true, true]);
    await page.locator('#button').click({ timeout: 2000 });
    await banner.getByRole('button', { name: 'بستن' }).press('Escape');
    await expect.poll(() => isShown(page)).toBe(0);
  });
});

describe('a survey', () => {
  it('sends answers by keyboard alone, and thanks', async () => {
    host.campaigns = [SURVEY];
    const page = await open();
    const survey = page.getByRole('region', { name: 'چطور بود؟' });
    await survey.waitFor();
    const scores = survey.getByRole('group', { name: 'امتیاز شما' });
    await expect.poll(() => scores.getByRole('radio').count()).toBe(5);
    await page.screenshot({ path: join(PICTURES, 'onsite-survey.png') });
    await scores.getByRole('radio', { name: '۴' }).press('Space');
    await survey.getByRole('textbox', { name: 'سن' }).fill('۳۲');
    await survey.getByRole('textbox', { name: 'چرا؟' }).fill('خوب بود');
    await survey.getByRole('button', { name: 'فرستادن' }).press('Enter');
    await survey.getByRole('status').waitFor();
    expect(await activeTag(page)).toBe('DIV');
    const response = host.posted.find(({ path }) => path === '/v1/onsite/response');
    expect(response?.body).toMatchObject({
      ...{ campaign_id: 8, answers: { score: '4', age: '۳۲', why: 'خوب بود' } },
      message_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    await survey.getByRole('button', { name: 'بستن' }).press('Enter');
    await expect.poll(() => isShown(page)).toBe(0);
    expect(actions()).toEqual(['shown']);
    // Once is once, though the host still lists it.
    await page.reload();
    await shops.loaded(page);
    await page.waitForTimeout(300);
    expect(await isShown(page)).toBe(0);
  });

  it('that was answered is not dismissed, whatever closes it', async () => {
    host.campaigns = [{ ...SURVEY, kind: 'form' }];
    const page = await open();
    await box(page).getByRole('radio', { name: '۴' }).click();
    await box(page).getByRole('button', { name: 'فرستادن' }).click();
    await box(page).getByRole('status').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => isShown(page)).toBe(0);
    expect(actions()).toEqual(['shown']);
  });

  it('asks again when the host refuses the answers', async () => {
    host.campaigns = [SURVEY];
    host.answers['/v1/onsite/response'] = { status: 400, body: { status: 'error', message: 'no' } };
    const page = await open();
    await box(page).getByRole('radio', { name: '۱', exact: true }).click();
    await box(page).getByRole('button', { name: 'فرستادن' }).click();
    await expect
      .poll(() => box(page).getByRole('alert').textContent())
      .toBe('لطفاً پاسخ‌ها را بررسی کنید.');
  });

  it('keeps answers that the host could not get, and sends them from a later page', async () => {
    host.campaigns = [SURVEY];
    host.answers['/v1/onsite/response'] = { status: 503, body: {} };
    const page = await open();
    await box(page).getByRole('radio', { name: '۵' }).click();
    await box(page).getByRole('button', { name: 'فرستادن' }).click();
    await box(page).getByRole('status').waitFor();
    host.answers = {};
    host.posted.length = 0;
    await page.reload();
    const responses = () => host.posted.filter(({ path }) => path === '/v1/onsite/response');
    await expect.poll(() => responses().length).toBe(1);
    expect(responses()[0]?.body).toMatchObject({ answers: { score: '5' } });
    await page.reload();
    await shops.loaded(page);
    await page.waitForTimeout(300);
    expect(responses()).toHaveLength(1);
  });
});

describe.each(['popup', 'banner', 'survey', 'form'] as const)('a %s', (kind) => {
  const fields = kind === 'survey' || kind === 'form' ? FIELDS : [];
  const isModal = kind === 'popup' || kind === 'form';
  const persian = { ...POPUP.content, color: '#fde047' };
  const english = { ...persian, lang: 'en', title: 'Sale', body: 'Until Friday' };
  const campaignOf = (content: object) => ({ ...POPUP, kind, content, fields });

  it.each([
    ['rtl', 'light', persian, 'بستن'],
    ['ltr', 'dark', { ...english, color: undefined }, 'Close'],
    ['ltr', 'light', { ...english, dir: 'ltr' }, 'Close'],
  ] as const)('%s, %s, has no violation of axe', async (direction, colorScheme, content, close) => {
    host.campaigns = [campaignOf(content)];
    const page = await open();
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await box(page).getByRole('button', { name: close }).waitFor();
    expect(await directionOf(box(page))).toBe(direction);
    const builder = new AxeBuilder({ page }).include('[data-ravand]');
    const { violations, passes } = await builder.analyze();
    const broken = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => [id, html]));
    expect(broken).toEqual([]);
    // It was seen: axe looks into the shadow root.
    expect(passes.map(({ id }) => id)).toContain('color-contrast');
    expect(complaints).toEqual([]);
  });

  it(`is used by keyboard alone: ${isModal ? 'the focus stays within' : 'the page too'}, and Escape returns it`, async () => {
    const page = await open();
    await page.focus('#next');
    host.campaigns = [campaignOf(persian)];
    await page.evaluate(() => (globalThis as ShopWindow).ravand.page());
    await box(page).waitFor();
    if (!isModal) expect(await activeTag(page)).toBe('A');
    const visited = new Set<string | undefined>();
    for (let tabs = 0; tabs < 10; tabs++) {
      await page.keyboard.press('Tab');
      visited.add(await activeTag(page));
    }
    // BODY: of the browser's own controls.
    if (isModal) expect([...visited].sort()).toEqual(['BODY', 'DIV']);
    else expect([...visited].sort()).toEqual(expect.arrayContaining(['A', 'BUTTON', 'DIV']));
    if (!isModal) {
      await page.focus('#button');
      await page.keyboard.press('Tab');
      expect(await activeTag(page)).toBe('DIV');
    }
    await page.keyboard.press('Escape');
    await expect.poll(() => isShown(page)).toBe(0);
    expect(await activeTag(page)).toBe(isModal ? 'A' : 'BUTTON');
    await expect.poll(actions).toEqual(['shown', 'dismissed']);
  });
});

describe('campaigns', () => {
  it('are shown one after another, and not to who has not consented', async () => {
    shop.options = { onsite: true, consent: 'pending' };
    host.campaigns = [POPUP, { ...POPUP, id: 9, content: { title: 'دوم' } }];
    const page = await open();
    await page.waitForTimeout(300);
    expect(await isShown(page)).toBe(0);
    await page.evaluate(() => (globalThis as ShopWindow).ravand.consent('granted'));
    await page.getByRole('dialog', { name: 'تخفیف یلدا' }).waitFor();
    expect(await isShown(page)).toBe(1);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'دوم' }).waitFor();
  });

  it('of the address before are not shown on the next one', async () => {
    host.campaigns = [POPUP, { ...POPUP, id: 9, content: { title: 'دوم' } }];
    const page = await open();
    await page.getByRole('dialog', { name: 'تخفیف یلدا' }).waitFor();
    host.campaigns = [];
    await page.evaluate(() => (globalThis as ShopWindow).history.pushState({}, '', '/other'));
    await page.waitForTimeout(100);
    await page.keyboard.press('Escape');
    await page.waitForTimeout(300);
    expect(await isShown(page)).toBe(0);
  });
});

interface Doc {
  getComputedStyle(element: unknown): { direction: string };
  document: { activeElement: { tagName: string; dataset: Record<string, string> } | null };
}

const activeTag = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as Doc).document.activeElement?.tagName);

const directionOf = (element: Locator) =>
  element.evaluate((one) => (globalThis as unknown as Doc).getComputedStyle(one).direction);
