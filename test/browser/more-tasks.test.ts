import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { control, enter } from '../contract/control/panel.ts';
import { eventually, readyStack } from '../support/stack.ts';
import { launch, link, open, panelAccount, send, violations, type PanelAccount } from './panel.ts';

let browser: Browser;
let account: PanelAccount;
beforeAll(async () => {
  browser = await launch();
  account = await panelAccount('more tasks');
});
afterAll(() => browser.close());

const opened = () => open(browser, { session: account.owner });
const headers = { 'content-type': 'application/json' };

it('the snippet of the first visit sends an event as it stands, with the key in its place', async () => {
  const { page } = await opened();
  await page.goto('/');
  const snippet = await page.getByRole('group', { name: 'فرمان نمونه' }).innerText();
  const command = snippet.replace('WRITE_KEY', account.writeKey);
  const { stdout } = await promisify(execFile)('bash', ['-c', command]);
  expect(JSON.parse(stdout)).toMatchObject({ status: 'ok' });
});

it('a place in the paths leads to the people behind it', async () => {
  for (const user_id of ['a', 'b']) await send(account, [{ event: 'product_viewed', user_id }]);
  await send(account, [{ event: 'order_completed', user_id: 'a' }]);
  // Lists of events are up to a minute old: early, so that the relay below is suggested it.
  await send(account, [{ event: 'cart_filled', user_id: 'e' }]);
  const asked = { start: { event: 'product_viewed' } };
  const { page } = await opened();
  const url = link('/reports/paths', asked);
  await eventually({ ms: 30_000, waitingFor: 'the events in the report' }, async () => {
    await page.goto(url);
    await page.getByText(/همهٔ رویدادها تا/).waitFor();
    return (await page.getByText('order_completed').count()) > 0 || undefined;
  });
  await page.getByRole('listitem').filter({ hasText: 'order_completed' }).getByRole('link').click();
  await page.getByRole('heading', { name: '۱ نفر' }).waitFor();
  await page.getByRole('link', { name: 'a', exact: true }).waitFor();
});

it('a dashboard shows saved reports, and a viewer sees it without changing it', async () => {
  const definition = { steps: [{ event: 'product_viewed' }, { event: 'order_completed' }] };
  for (const [name, kind, saved] of [
    ['فروش', 'funnel', definition],
    ['بازدید', 'trends', { series: [{ event: 'product_viewed' }] }],
  ] as const)
    await control('POST', '/v1/saved-reports', {
      ...{ session: account.owner, headers, body: { name, kind, definition: saved } },
    });
  const { page, complaints } = await opened();
  await page.goto('/dashboards');
  await page.getByRole('button', { name: 'داشبورد تازه' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('نام داشبورد').fill('هر روز');
  await dialog.getByLabel('فروش').check();
  await dialog.getByLabel('بازدید').check();
  await dialog.getByRole('button', { name: 'ذخیره' }).click();
  await page.waitForURL(/\/dashboards\/\d+$/);
  await page.getByRole('heading', { level: 1, name: 'هر روز' }).waitFor();
  await page.getByText('نرخ تبدیل').waitFor();
  expect(await page.getByRole('link', { name: 'باز کردن گزارش' }).count()).toBe(2);
  await page
    .getByText(/همهٔ رویدادها تا/)
    .first()
    .waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  const viewer = await enter(String(account.accountId), 'viewer');
  const { page: seen } = await open(browser, { session: viewer });
  await seen.goto(page.url());
  await seen.getByText('نرخ تبدیل').waitFor();
  expect(await seen.getByRole('button', { name: 'حذف' }).count()).toBe(0);
  const id = page.url().split('/').at(-1) ?? '';
  const removed = await control('DELETE', `/v1/dashboards/${id}`, { session: viewer });
  expect(removed.status).toBe(404);
});

it('a report is downloaded as a table and as a picture', async () => {
  for (const user_id of ['c', 'd']) await send(account, [{ event: 'trial_began', user_id }]);
  await send(account, [{ event: 'trial_paid', user_id: 'c' }]);
  const { page } = await opened();
  const url = link('/reports/funnel', {
    steps: [{ event: 'trial_began' }, { event: 'trial_paid' }],
  });
  await eventually({ ms: 30_000, waitingFor: 'the events in the report' }, async () => {
    await page.goto(url);
    await page.getByText(/همهٔ رویدادها تا/).waitFor();
    return (await page.getByText('۲ نفر').count()) > 0 || undefined;
  });
  const saved = async (what: string) => {
    await page.getByRole('button', { name: 'خروجی و پیوند' }).click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: what }).click(),
    ]);
    return { name: file.suggestedFilename(), content: await readFile(await file.path()) };
  };
  const table = await saved('جدول CSV');
  expect(table.name).toBe('funnel.csv');
  const lines = table.content.toString('utf8').split('\r\n');
  expect(lines.map((line) => line.split(',').slice(0, 5).join(','))).toEqual([
    '\uFEFFvalue,step,event,count,conversion_from_previous',
    ',1,trial_began,2,1',
    ',2,trial_paid,1,0.5',
    '',
  ]);
  const picture = await saved('تصویر PNG');
  expect(picture.name).toBe('funnel.png');
  expect(picture.content.subarray(1, 4).toString()).toBe('PNG');
  const box = await page.locator('#funnel-picture').boundingBox();
  expect(picture.content.readUInt32BE(16)).toBe(Math.ceil(2 * ((box?.width ?? 0) + 32)));
});

it('a campaign is drafted for a segment, and the links of its messages carry its name', async () => {
  const make = async (path: string, body: object) => {
    const made = await control('POST', path, { session: account.owner, headers, body });
    expect(made.status).toBe(201);
  };
  const text = 'یلدا https://shop.example/yalda';
  await make('/v1/templates', {
    ...{ name: 'قالب یلدا', channel: 'sms', category: 'marketing', text },
  });
  await make('/v1/segments', { name: 'بازدیدکنندگان', definition: { event: 'product_viewed' } });
  const { page, complaints } = await opened();
  await page.goto('/campaigns');
  await page.getByRole('button', { name: 'کمپین تازه' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('نام کمپین').fill('یلدا');
  await dialog.getByLabel('قالب').selectOption({ label: 'قالب یلدا (پیامک)' });
  await dialog.getByLabel('نام (utm_campaign)').fill(' yalda ');
  await dialog.getByLabel('منبع (utm_source)').fill('ravand');
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'ساختن پیش‌نویس' }).click();
  await page.getByText('utm_campaign=yalda').waitFor();
  const id = page.url().split('/').at(-1) ?? '';
  const stored = await control('GET', `/v1/campaigns/${id}`, { session: account.owner });
  expect(stored.body).toMatchObject({ utm: { source: 'ravand', name: 'yalda' }, channel: 'sms' });
  expect(complaints).toEqual([]);
});

it('a relay gets the events that are chosen, and those that are typed', async () => {
  await send(account, [{ event: 'cart_filled', user_id: 'e' }]);
  const { page, complaints } = await opened();
  const dialog = page.getByRole('dialog');
  const added = async (typed: string) => {
    await dialog.getByRole('button', { name: 'افزودن رویداد' }).click();
    const field = dialog.locator('li:last-child input:focus');
    await field.waitFor({ timeout: 5000 });
    await field.fill(typed);
    return field;
  };
  await eventually({ ms: 90_000, waitingFor: 'the event among the suggestions' }, async () => {
    await page.goto('/integrations');
    await page.getByRole('button', { name: 'رلهٔ تازه' }).click();
    await added('cart');
    const option = page.getByRole('option', { name: /cart_filled/ });
    return option.click({ timeout: 3000 }).then(
      () => true,
      () => undefined,
    );
  });
  await dialog.getByLabel('نام', { exact: true }).fill('انبار');
  await dialog.getByLabel('نشانی').fill('https://shop.example/hook');
  await (await added('not_sent_yet')).press('Enter');
  await (await added('wrong')).press('Enter');
  await dialog.getByRole('button', { name: 'حذف wrong' }).click();
  // An empty row is left out; its suggestions cover the button below until they are closed.
  await (await added('')).press('Escape');
  expect(await violations(page)).toEqual([]);
  // What was typed last counts, too.
  await added('order_paid');
  await dialog.getByRole('button', { name: 'ذخیره' }).click();
  await page.getByText('انبار').waitFor();
  const stored = await control('GET', '/v1/relays', { session: account.owner });
  expect(stored.body).toMatchObject({
    relays: [{ name: 'انبار', events: ['cart_filled', 'not_sent_yet', 'order_paid'] }],
  });
  expect(complaints).toEqual([]);
});

it('a popup is made with a preview, is shown on the site, and is paused', async () => {
  const shown = async () => {
    const url = `${readyStack().ingest_url}/v1/onsite?write_key=${account.writeKey}&url=https%3A%2F%2Fshop.ir%2Fcart&anonymous_id=b1`;
    const { campaigns } = (await (await fetch(url)).json()) as { campaigns: unknown[] };
    return campaigns.length;
  };
  const { page } = await opened();
  await page.goto('/onsite');
  await page.getByRole('button', { name: 'کمپین تازه' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('نام کمپین').fill('یلدا');
  await dialog.getByLabel('عنوان').fill('شب یلدا مبارک');
  await dialog.getByRole('heading', { name: 'شب یلدا مبارک' }).waitFor();
  await dialog.getByLabel('نشانی صفحه یا بخشی از آن').fill('/cart');
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'آغاز' }).click();
  const row = page.getByRole('row', { name: /یلدا/ });
  await row.getByText('روشن').waitFor();
  await eventually(
    { ms: 15_000, waitingFor: 'the popup' },
    async () => (await shown()) === 1 || undefined,
  );
  await row.getByRole('button', { name: 'توقف' }).click();
  await row.getByText('متوقف').waitFor();
  await eventually(
    { ms: 15_000, waitingFor: 'no popup' },
    async () => (await shown()) === 0 || undefined,
  );
});

it('a marketing template is sent to one person as a test, which their page shows', async () => {
  const content = { channel: 'inapp', category: 'marketing', title: 'یلدا' };
  const { status } = await control('POST', '/v1/templates', {
    ...{ session: account.owner, headers },
    body: { name: 'یلدای آزمایشی', ...content, text: 'سلام {{ vars.name }}' },
  });
  expect(status).toBe(201);
  const { page, complaints } = await opened();
  await page.goto('/templates');
  await page.getByRole('button', { name: 'یلدای آزمایشی' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/شناسهٔ گیرنده/).fill('sara');
  await dialog.getByLabel(/vars\.name/).fill('سارا');
  expect(await violations(page)).toEqual([]);
  // The answer is lost once: the request is repeated with its key, and it is one message.
  await page.route(
    '**/v1/templates/*/test',
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  const send = dialog.getByRole('button', { name: 'ارسال آزمایشی' });
  await send.click();
  await dialog.getByRole('alert').waitFor();
  await send.click();
  await dialog.getByText('فرستاده شد.').waitFor();
  await eventually(
    { ms: 60_000, waitingFor: 'the message on the page of the person' },
    async () => {
      const { body } = await control('GET', '/v1/people/sara', { session: account.owner });
      return (body as { messages?: unknown[] }).messages?.length === 1 || undefined;
    },
  );
  await page.goto('/people/sara');
  await page.getByRole('row', { name: /inapp آزمایشی/ }).waitFor();
  expect(complaints.filter((text) => !text.includes('ERR_FAILED'))).toEqual([]);
});

it('a short link is made once for an address, and leads there', async () => {
  const { page } = await opened();
  await page.goto('/links');
  const target = 'https://shop.example/yalda?from=panel';
  for (let time = 0; time < 2; time++) {
    await page.getByLabel('نشانی بلند').fill(target);
    await page.getByRole('button', { name: 'کوتاه کردن' }).click();
    await page.getByRole('group', { name: 'پیوند کوتاه', exact: true }).waitFor();
  }
  expect(await page.getByRole('row', { name: /yalda/ }).count()).toBe(1);
  const short = await page.getByRole('group', { name: 'پیوند کوتاه', exact: true }).innerText();
  const code = short.split('/').at(-1) ?? '';
  const answer = await fetch(`${readyStack().ingest_url}/s/${code}`, { redirect: 'manual' });
  expect(answer.headers.get('location')).toBe(target);
  expect(await violations(page)).toEqual([]);
});
