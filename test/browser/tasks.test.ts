import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { control } from '../contract/control/panel.ts';
import { eventually } from '../support/stack.ts';
import { launch, link, open, panelAccount, send, violations, type PanelAccount } from './panel.ts';

let browser: Browser;
let account: PanelAccount;
const funnel = link('/reports/funnel', {
  steps: [{ event: 'product_viewed' }, { event: 'order_completed' }],
});

beforeAll(async () => {
  browser = await launch();
  account = await panelAccount('tasks');
  const people = Array.from({ length: 10 }, (_, at) => `person-${at}`);
  await send(
    account,
    people.map((user_id) => ({
      ...{ event: 'product_viewed', user_id },
      properties: { category: 'چای', price: 100 },
    })),
  );
  await send(
    account,
    people.slice(0, 4).map((user_id) => ({ event: 'order_completed', user_id })),
  );
  await eventually({ ms: 30_000, waitingFor: 'the events in the warehouse' }, async () => {
    const { body } = await control('GET', '/v1/live', { session: account.owner });
    return (body as { events: unknown[] }).events.length === 14 || undefined;
  });
});
afterAll(() => browser.close());

const opened = () => open(browser, { session: account.owner });

it('a segment is made of those whom a funnel lost', async () => {
  const { page, complaints } = await opened();
  await page.goto(funnel);
  await page.getByRole('link', { name: 'ریزش: ۶ نفر' }).click();
  await page.getByRole('heading', { name: '۶ نفر' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole('link', { name: 'ساختن سگمنت از آنان' }).click();
  await page.getByText('۶ نفر').waitFor();
  await page.getByLabel('نام سگمنت').fill('نخریده‌ها');
  await page.getByRole('button', { name: 'ذخیره', exact: true }).click();
  await page.waitForURL(/\/segments\/\d+$/);
  expect(await violations(page)).toEqual([]);
  await page.goto('/segments');
  await page.getByRole('link', { name: 'نخریده‌ها' }).waitFor();
  expect(complaints).toEqual([]);
});

it('a funnel is saved, and opens again from its link', async () => {
  const { page } = await opened();
  await page.goto(funnel);
  await page.getByRole('button', { name: 'ذخیره', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('نام گزارش').fill('از دیدن تا خرید');
  await dialog.getByRole('button', { name: 'ذخیره', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.goto('/reports/saved');
  await page.getByRole('link', { name: 'از دیدن تا خرید' }).click();
  await page.getByText('۱۰ نفر').first().waitFor();
});

it('a running report is cancelled: its request ends, and the page says so', async () => {
  const { page } = await opened();
  let release: (() => void) | undefined;
  const cancelled = new Promise<void>((resolve) => {
    page.on('requestfailed', (request) => {
      if (request.url().includes('/v1/reports/funnel')) resolve();
    });
  });
  await page.route('**/v1/reports/funnel', async (route) => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    await route.abort().catch(() => undefined);
  });
  await page.goto(funnel);
  await page.getByRole('button', { name: 'لغو' }).click();
  await cancelled;
  release?.();
  await page.getByRole('heading', { name: 'گزارش لغو شد' }).waitFor();
});

it('a write key is made, shown once and revoked by its name', async () => {
  const { page } = await opened();
  await page.goto('/settings/keys');
  await page.getByRole('button', { name: 'کلید تازه' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('اپلیکیشن یا سایت').fill('shop');
  await dialog.getByRole('button', { name: 'ساختن کلید' }).click();
  const key = await dialog.getByRole('group', { name: 'کلید' }).innerText();
  expect(key).toMatch(/^wk_svc_[\w-]{43}$/);
  await dialog.getByRole('button', { name: 'رونوشت گرفتم' }).click();
  expect(await page.content()).not.toContain(key);
  const row = page.getByRole('row', { name: /^shop/ });
  await row.getByRole('button', { name: 'ابطال' }).click();
  const confirm = page.getByRole('dialog');
  const button = confirm.getByRole('button', { name: 'ابطال کلید' });
  expect(await button.isDisabled()).toBe(true);
  await confirm.getByRole('textbox').fill('shop/production');
  await button.click();
  await row.getByText(/باطل از/).waitFor();
  await page.goto('/settings/audit');
  await page.getByRole('rowheader', { name: 'ابطال کلید نوشتن' }).first().waitFor();
});

it('events are seen live, and can be filtered and paused', async () => {
  const { page } = await opened();
  await page.goto('/live');
  await page.getByRole('button', { name: 'order_completed' }).first().waitFor();
  await send(account, [{ event: 'live_now', user_id: 'person-0' }]);
  await page.getByRole('button', { name: 'live_now' }).waitFor();
  await page.getByRole('button', { name: 'مکث' }).click();
  await page.getByText('در مکث').waitFor();
  await page.goto(link('/live', { event: 'live_now' }));
  await page.getByRole('button', { name: 'live_now' }).waitFor();
  expect(await page.getByRole('button', { name: 'order_completed' }).count()).toBe(0);
});

it('an e-mail is previewed with its own styles, and neither runs nor loads anything', async () => {
  const { page } = await opened();
  const loaded: string[] = [];
  await page.route('https://elsewhere.example/**', async (route) => {
    loaded.push(route.request().url());
    await route.fulfill({ contentType: 'image/gif', body: '' });
  });
  await page.goto('/templates');
  await page.getByRole('button', { name: 'قالب تازه' }).first().click();
  const html = [
    '<style>p { color: rgb(1, 2, 3) }</style><p style="margin-top: 7px">سلام</p>',
    '<img src="https://elsewhere.example/seen.gif" onerror="document.title = \'ran\'">',
  ];
  await page.getByLabel('متن HTML').fill(html.join(''));
  const text = page.frameLocator('iframe').getByText('سلام');
  await text.waitFor();
  const style = "getComputedStyle(document.querySelector('p'))";
  const shown = await page
    .frames()[1]
    ?.evaluate(`[${style}.color, ${style}.marginTop, document.title]`);
  expect(shown).toEqual(['rgb(1, 2, 3)', '7px', '']);
  expect(loaded).toEqual([]);
});

it.each(['fa', 'en'] as const)(
  'a person with events and a campaign have no violation of axe in %s',
  async (language) => {
    const session = account.owner;
    const { page, complaints } = await open(browser, { session, language });
    for (const path of [
      '/people/person-1',
      `/campaigns/${await makeCampaign(`spring ${language}`)}`,
    ]) {
      await page.goto(path);
      await page.getByRole('heading', { level: 2 }).first().waitFor();
      await expect.poll(() => page.getByText(/در حال خواندن|Loading/).count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
  },
);

/** A draft, with a template of its own; its id. */
async function makeCampaign(name: string): Promise<number> {
  const session = account.owner;
  const content = { name, channel: 'sms', category: 'marketing', text: 'سلام {{ user.name }}' };
  const template = await control('POST', '/v1/templates', { session, body: content });
  const { id: template_id } = template.body as { id: number };
  const audience = { attribute: 'city', op: 'eq', value: 'تهران' };
  const body = { name, channel: 'sms', template_id, audience };
  const campaign = await control('POST', '/v1/campaigns', { session, body });
  expect(campaign.status).toBe(201);
  return (campaign.body as { id: number }).id;
}

it('the main way to a report works with the keyboard alone', async () => {
  const { page } = await opened();
  await page.goto('/reports/funnel');
  await page.getByRole('heading', { level: 1, name: 'قیف' }).waitFor();
  await page.getByLabel('گام ۱', { exact: true }).focus();
  await page.keyboard.type('product');
  await page.getByRole('option', { name: /product_viewed/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByLabel('گام ۲', { exact: true }).focus();
  await page.keyboard.type('order');
  await page.getByRole('option', { name: /order_completed/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByText('۴ نفر').first().waitFor();
});
