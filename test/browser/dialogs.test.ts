import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { control } from '../contract/control/panel.ts';
import {
  launch,
  link,
  open,
  panelAccount,
  violations,
  type Opened,
  type PanelAccount,
} from './panel.ts';

let browser: Browser;
let account: PanelAccount;
let segment: number;
let campaign: number;
beforeAll(async () => {
  browser = await launch();
  account = await panelAccount('dialogs');
  const text =
    'سلام {{ vars.name }} https://shop.example/a/long/address/that/has/no/place/to/break';
  const template_id = await make('/v1/templates', {
    ...{ name: 'یلدا', channel: 'inapp', category: 'marketing', title: 'یلدا', text },
  });
  const definition = { event: 'product_viewed', times: { op: 'between', value: [2, 5] } };
  segment = await make('/v1/segments', { name: 'بازدیدکنندگان', definition });
  campaign = await make('/v1/campaigns', {
    ...{ name: 'یلدا', channel: 'inapp', template_id, segment_id: segment },
  });
});
afterAll(() => browser.close());

async function make(path: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const made = await control('POST', path, { session: account.owner, headers, body });
  expect(made.status).toBe(201);
  return (made.body as { id: number }).id;
}

const FUNNEL = link('/reports/funnel', { steps: [{ event: 'a' }, { event: 'b' }] });

/** The page of a dialog, and the button that opens it, in both languages. */
const DIALOGS: readonly [path: string, persian: string, english: string][] = [
  ['/settings/keys', 'کلید تازه', 'New key'],
  ['/settings/keys', 'ابطال', 'Revoke'],
  ['/settings/members', 'افزودن عضو', 'Add a member'],
  [FUNNEL, 'ذخیره', 'Save'],
  ['/dashboards', 'داشبورد تازه', 'New dashboard'],
  ['/exports', 'خروجی تازه', 'New export'],
  ['/onsite', 'کمپین تازه', 'New campaign'],
  ['/campaigns', 'کمپین تازه', 'New campaign'],
  ['/campaigns/$campaign', 'ارسال', 'Send'],
  ['/campaigns/$campaign', 'تناوب', 'Recurrence'],
  ['/templates', 'قالب تازه', 'New template'],
  ['/templates', 'یلدا', 'یلدا'],
  ['/integrations', 'وب‌هوک تازه', 'New webhook'],
  ['/integrations', 'رلهٔ تازه', 'New relay'],
  ['/segments/$segment', 'حذف سگمنت', 'Delete the segment'],
];

/** What is wider than the dialog, or than the page, with how much. */
const tooWide = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const found = [document.documentElement, document.querySelector('dialog[open]')];
    return found.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.tagName);
  })()`);

describe.each(['fa', 'en'] as const)('on a phone, in %s', (language) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(browser, { session: account.owner, language, width: 390 });
  });
  afterAll(() => opened.context.close());

  it.each(DIALOGS)('the dialog at %s, %s, fits and can be closed', async (at, persian, english) => {
    const { page, complaints } = opened;
    const path = at.replace('$campaign', String(campaign)).replace('$segment', String(segment));
    await page.goto(path);
    const name = language === 'fa' ? persian : english;
    await page.getByRole('button', { name, exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await expect
      .poll(() => dialog.getByText(/در حال (خواندن|شمردن)|Loading|Counting/).count())
      .toBe(0);
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page)).toEqual([]);
    // Also at its end the button that closes it is in sight.
    await dialog.evaluate('(element) => element.scrollTo(0, element.scrollHeight)');
    const close = dialog
      .getByRole('button', { name: language === 'fa' ? 'بستن' : 'Close' })
      .first();
    expect((await close.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await close.click();
    await dialog.waitFor({ state: 'detached' });
    expect(complaints.splice(0)).toEqual([]);
  });
});
