import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAGES, type PanelPage } from '../../panel/pages.ts';
import { enter, makeMember, sessionIn, signIn } from '../contract/control/panel.ts';
import { admin, FULL } from '../support/stack.ts';
import { launch, open, panelAccount, violations, type Opened, type PanelAccount } from './panel.ts';

let browser: Browser;
let account: PanelAccount;
let viewer: string;
/** An owner who is an operator of the installation: may open every page. */
let operator: string;
beforeAll(async () => {
  browser = await launch();
  account = await panelAccount('pages');
  viewer = await enter(String(account.accountId), 'viewer');
  const member = await makeMember(String(account.accountId), 'owner');
  await admin('member', 'set-operator', '--email', member.email);
  operator = sessionIn(await signIn(member));
});
afterAll(() => browser.close());

const pages: readonly PanelPage[] = PAGES;
const shown = pages.filter(({ path, isPublic }) => !isPublic && !path.includes('$'));

/** By default each page is in one language, by turns; with --full in both. */
const inLanguage = (language: 'fa' | 'en') =>
  shown.map(({ path }) => path).filter((_, at) => FULL || (at % 2 === 0) === (language === 'fa'));

describe.each(['fa', 'en'] as const)('in %s, on an account without events', (language) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(browser, { session: operator, language });
  });
  afterAll(() => opened.context.close());

  it.each(inLanguage(language))('%s has no violation of axe, light and dark', async (path) => {
    const { page, complaints } = opened;
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByText(/در حال خواندن|Loading/).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violations(page, ['color-contrast'])).toEqual([]);
    expect(complaints.splice(0)).toEqual([]);
  });
});

describe('a viewer', () => {
  it.each(['/settings/keys', '/settings/members', '/people', '/exports', '/integrations'])(
    'sees at %s why it is not for them, with status 403',
    async (path) => {
      const { page, context } = await open(browser, { session: viewer });
      const answer = await page.goto(path);
      expect(answer?.status()).toBe(403);
      await page.getByRole('heading', { name: 'این صفحه برای نقش شما نیست' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await context.close();
    },
  );

  it('has no link to what they may not open', async () => {
    const { page, context } = await open(browser, { session: viewer });
    await page.goto('/');
    const navigation = page.getByRole('navigation').first();
    await navigation.getByRole('link', { name: 'قیف' }).waitFor();
    for (const name of ['کلیدها', 'اعضا', 'خروجی‌ها', 'اتصال‌ها'])
      expect(await navigation.getByRole('link', { name }).count()).toBe(0);
    await context.close();
  });
});

it('an owner who is no operator sees why replays are not for them, with status 403', async () => {
  const { page, context } = await open(browser, { session: account.owner });
  const answer = await page.goto('/on-call/jobs');
  expect(answer?.status()).toBe(403);
  await page.getByRole('heading', { name: 'این صفحه برای نقش شما نیست' }).waitFor();
  expect(await page.getByRole('button', { name: 'بازپخش تازه' }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await context.close();
});

it('without a script the document shows the page, its navigation and whose account it is', async () => {
  const { page } = await open(browser, { session: account.owner, withoutScripts: true });
  await page.goto('/reports/funnel');
  await page.getByRole('heading', { level: 1, name: 'قیف' }).waitFor();
  const [link] = await page.locator('aside a[aria-current=page]').all();
  expect(await link?.getAttribute('href')).toBe('/reports/funnel');
  await page.getByRole('banner').getByText('pages').waitFor();
  // Chromium shows it only when scripts are off in its settings.
  const notice = await page.locator('noscript').textContent();
  expect(notice).toContain('پنل بدون جاوااسکریپت کار نمی‌کند');
});

it('says so when the application does not come, and offers to load the page again', async () => {
  const { page } = await open(browser, { session: account.owner });
  await page.route('**/assets/react-*.js', (route) => route.abort());
  await page.goto('/reports/funnel');
  await page.getByRole('alert').filter({ hasText: 'برنامهٔ پنل بارگذاری نشد' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.unroute('**/assets/react-*.js');
  await page.getByRole('link', { name: 'صفحه را دوباره بارگذاری کنید' }).click();
  await page.getByRole('button', { name: 'افزودن گام' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

it('a page that does not exist says so, with status 404', async () => {
  const { page } = await open(browser, { session: account.owner });
  const answer = await page.goto('/nowhere');
  expect(answer?.status()).toBe(404);
  await page.getByRole('heading', { name: 'این صفحه وجود ندارد' }).waitFor();
});
