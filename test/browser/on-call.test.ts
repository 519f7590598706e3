import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { control, makeMember, sessionIn, signIn } from '../contract/control/panel.ts';
import { withRefusedEvent } from '../integration/operate/faults.ts';
import { post } from '../support/client.ts';
import { openPostgres } from '../support/stack-clients.ts';
import { admin, eventually, readyStack } from '../support/stack.ts';
import { launch, open, panelAccount, send, violations, type PanelAccount } from './panel.ts';

let browser: Browser;
let account: PanelAccount;
beforeAll(async () => {
  browser = await launch();
  account = await panelAccount('on-call');
  // Gateways that tests before killed with a spool: an erasure would wait for their events.
  const pool = openPostgres();
  await pool.query(
    `UPDATE gateway_instances SET spooled = 0 WHERE seen_at < now() - interval '1 minute'`,
  );
  await pool.end();
});
afterAll(() => browser.close());

/** Whether the page scrolls sideways: only its tables may. */
const isTooWide = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
const opened = () => open(browser, { session: account.owner });
/** An operation takes its turn, and its command a start of node. */
const OPERATION = { timeout: 60_000 };

it('a dead letter is redriven: a dry run first, then its group is typed', async () => {
  const event = `refused_${randomUUID().replaceAll('-', '')}`;
  const { page } = await opened();
  await withRefusedEvent(event, async () => {
    await send(account, [{ event, user_id: 'sara' }]);
    await page.goto('/on-call');
    await page.getByRole('rowheader', { name: 'VIOLATED_CONSTRAINT' }).waitFor(OPERATION);
  });
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await isTooWide(page)).toBe(false);
  await page.setViewportSize({ width: 1280, height: 900 });
  const row = page.getByRole('row', { name: /VIOLATED_CONSTRAINT/ });
  await row.getByRole('button', { name: 'پردازش دوباره' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'اجرای آزمایشی' }).click();
  await dialog.getByText('۱ پیام با ۱ رویداد دوباره پردازش می‌شوند.').waitFor(OPERATION);
  expect(await violations(page)).toEqual([]);
  const redrive = dialog.getByRole('button', { name: 'پردازش دوباره' });
  expect(await redrive.isDisabled()).toBe(true);
  const group = await dialog.locator('label bdi').innerText();
  await dialog.getByRole('textbox').fill(group);
  await redrive.click();
  await dialog.getByText('۱ پیام با ۱ رویداد به پردازش بازگشتند.').waitFor(OPERATION);
  await dialog.getByRole('button', { name: 'بستن' }).last().click();
  await page.getByRole('row', { name: /پردازش دوباره.*انجام شد/ }).waitFor();
  await eventually({ ms: 30_000, waitingFor: 'the event in the warehouse' }, async () => {
    const { body } = await control('GET', `/v1/live?event=${event}`, { session: account.owner });
    return (body as { events: unknown[] }).events.length === 1 || undefined;
  });
  await page.goto('/on-call/changes');
  await page.getByRole('rowheader', { name: 'operation.requested' }).first().waitFor();
  await page.getByRole('rowheader', { name: 'dead_letters.redriven' }).waitFor();
});

it('a wrong merge is undone, and a person is erased after their id is typed', async () => {
  await send(account, [{ event: 'seen', user_id: 'leila' }]);
  const { ingest_url } = readyStack();
  const alias = { user_id: 'leila', previous_id: 'browser-9' };
  expect((await post(`${ingest_url}/v1/alias`, account.writeKey, alias)).status).toBe(200);
  const { page } = await opened();
  await eventually({ ms: 30_000, waitingFor: 'the merge' }, async () => {
    const { body } = await control('GET', '/v1/people/browser-9', { session: account.owner });
    return (body as { names?: unknown[] }).names?.length === 2 || undefined;
  });
  await page.goto('/people/leila');
  await page.getByRole('button', { name: 'جدا کردن' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'اجرای آزمایشی' }).click();
  await dialog.getByText(/این دو دو شخص می‌شوند/).waitFor(OPERATION);
  await dialog.getByRole('textbox').fill('browser-9');
  await dialog.getByRole('button', { name: 'جدا کردن' }).click();
  await dialog.getByText('جدا شدند.', { exact: false }).waitFor(OPERATION);
  await dialog.getByRole('button', { name: 'بستن' }).last().click();
  await page.getByRole('button', { name: 'ادغام دوباره' }).waitFor();
  expect(await violations(page)).toEqual([]);

  await page.getByRole('button', { name: 'پاک کردن این شخص از همه جا' }).click();
  await dialog.getByRole('button', { name: 'اجرای آزمایشی' }).click();
  await dialog.getByText(/^۱ شناسه و [۰-۹]+ رویداد پاک می‌شوند/).waitFor(OPERATION);
  const erase = dialog.getByRole('button', { name: 'پاک کردن', exact: true });
  expect(await erase.isDisabled()).toBe(true);
  await dialog.getByRole('textbox').fill('leila');
  await erase.click();
  // Also while it runs its id is nobody's business who sees operations.
  const operations = async () =>
    (await control('GET', '/v1/operations', { session: account.owner })).text;
  expect(await operations()).not.toMatch(/leila|browser-9/);
  await dialog.getByText('پاک شد.', { exact: false }).waitFor({ timeout: 110_000 });
  expect(await violations(page)).toEqual([]);
  const known = async (id: string) =>
    (await control('GET', `/v1/people/${id}`, { session: account.owner })).status;
  expect(await known('leila')).toBe(404);
  const [newest] = (JSON.parse(await operations()) as { operations: object[] }).operations;
  expect(newest).toMatchObject({ kind: 'person.erase', state: 'succeeded', input: {} });
  expect(await operations()).not.toMatch(/leila|browser-9/);
});

it('replays are for operators of the installation, who start them with a dry run', async () => {
  const body = { kind: 'projection.rebuild', input: { projection: 'events', step: 'swap' } };
  const headers = { 'content-type': 'application/json' };
  const refused = await control('POST', '/v1/operations', {
    ...{ session: account.owner, body, headers },
  });
  expect(refused).toMatchObject({ status: 403, body: { need: 'operator' } });
  const jobs = await control('GET', '/v1/jobs', { session: account.owner });
  expect(jobs).toMatchObject({ status: 403, body: { need: 'operator' } });
  const member = await makeMember(String(account.accountId), 'owner');
  await admin('member', 'set-operator', '--email', member.email);
  const session = sessionIn(await signIn(member));
  const { page } = await open(browser, { session });
  await page.goto('/on-call');
  await page.getByRole('link', { name: 'بازپخش و بازسازی' }).click();
  await page.getByRole('button', { name: 'بازپخش تازه' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'اجرای آزمایشی' }).click();
  await dialog.getByText('بازپخش این را می‌کرد:').waitFor({ timeout: 110_000 });
  expect(await violations(page)).toEqual([]);
});
