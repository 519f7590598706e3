import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAGES, type PanelPage } from '../../panel/pages.ts';
import { enter } from '../contract/control/panel.ts';
import { launch, open, panelAccount, violations, type Opened, type PanelAccount } from './panel.ts';

let browser: Browser;
let account: PanelAccount;
let viewer: string;
beforeAll(async () => {
  browser = await launch();
  account = await panelAccount('pages');
  viewer = await enter(String(account.accountId), 'viewer');
});
afterAll(() => browser.close());

const pages: readonly PanelPage[] = PAGES;
const shown = pages.filter(({ path, isPublic }) => !isPublic && !path.includes('$'));

describe.each(['fa', 'en'] as const)('in %s, on an account without events', (language) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(browser, { session: account.owner, language });
  });
  afterAll(() => opened.context.close());

  it.each(shown.map(({ path }) => path))(
    '%s has no violation of axe, light and dark',
    async (path) => {
      const { page, complaints } = opened;
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText(/در حال خواندن|Loading/).count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await violations(page, ['color-contrast'])).toEqual([]);
      expect(complaints.splice(0)).toEqual([]);
    },
  );
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

it('a page that does not exist says so, with status 404', async () => {
  const { page } = await open(browser, { session: account.owner });
  const answer = await page.goto('/nowhere');
  expect(answer?.status()).toBe(404);
  await page.getByRole('heading', { name: 'این صفحه وجود ندارد' }).waitFor();
});
