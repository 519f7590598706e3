import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { control, makeMember, sessionIn, signIn } from '../contract/control/panel.ts';
import { withRefusedEvent } from '../integration/operate/faults.ts';
import { post } from '../support/client.ts';
import { openPostgres } from '../support/stack-clients.ts';
import { admin, eventually, killService, readyStack } from '../support/stack.ts';
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

/** A gateway whose process died with events in its spool, until `work` has ended. */
async function withDeadGateway(
  instance: string,
  work: (end: () => Promise<void>) => Promise<void>,
) {
  const pool = openPostgres();
  const end = async () => {
    await pool.query('DELETE FROM gateway_instances WHERE instance = $1', [instance]);
  };
  try {
    await pool.query(
      `INSERT INTO gateway_instances (instance, service, generation, phase, spooled, seen_at)
       VALUES ($1, 'ingest-gateway', coalesce((SELECT generation FROM log_layout), 1), 'passing', 5, now() - interval '2 minutes')`,
      [instance],
    );
    await work(end);
  } finally {
    await end();
    await pool.end();
  }
}

interface Shown {
  state: string;
  waits: readonly object[];
}

it('erasures that wait for a gateway say so, hold up nobody, and go on after a kill of the operator', async () => {
  const other = await panelAccount('on-call other');
  const member = await makeMember(String(account.accountId), 'owner');
  await admin('member', 'set-operator', '--email', member.email);
  const operator = sessionIn(await signIn(member));
  const headers = { 'content-type': 'application/json' };
  const ask = async (session: string, body: object) => {
    const answer = await control('POST', '/v1/operations', { session, body, headers });
    expect(answer.status).toBe(202);
    const { id } = answer.body as { id: number };
    return async () => (await control('GET', `/v1/operations/${id}`, { session })).body as Shown;
  };
  const instance = randomUUID().replaceAll('-', '').slice(0, 16);
  for (const of of [account, other]) {
    await send(of, [{ event: 'seen', user_id: 'nima' }]);
    await eventually({ ms: 60_000, waitingFor: 'the person' }, async () => {
      const { status } = await control('GET', '/v1/people/nima', { session: of.owner });
      return status === 200 || undefined;
    });
  }
  await withDeadGateway(instance, async (end) => {
    const erase = { kind: 'person.erase', input: { user_id: 'nima', dry_run: false } };
    const erasures = [await ask(account.owner, erase), await ask(other.owner, erase)];
    const wait = { key: 'spool_of_ended', service: 'ingest-gateway', instance, events: 5 };
    const bothWait = () =>
      eventually({ ms: 90_000, waitingFor: 'both erasures in the queue' }, async () => {
        const shown = await Promise.all(erasures.map((read) => read()));
        return shown.every(({ state, waits }) => state === 'queued' && waits.length > 0)
          ? shown
          : undefined;
      });
    for (const { waits } of await bothWait()) expect(waits).toMatchObject([wait]);
    await killService('operator');
    const replay = await ask(operator, {
      kind: 'log.replay',
      input: {
        ...{ topic: 'events.normalised', dry_run: true },
        from: new Date(Date.now() - 600_000).toISOString(),
        to: new Date(Date.now() - 300_000).toISOString(),
      },
    });
    await eventually({ ms: 110_000, waitingFor: 'the replay' }, async () =>
      (await replay()).state === 'succeeded' ? true : undefined,
    );
    const { page } = await opened();
    await page.goto('/on-call');
    await page.getByText(`منتظر است تا ingest-gateway ${instance} ۵ رویداد`).waitFor(OPERATION);
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await isTooWide(page)).toBe(false);
    for (const read of erasures) expect((await read()).waits).toMatchObject([wait]);
    await end();
    await eventually({ ms: 150_000, waitingFor: 'both erasures' }, async () => {
      const shown = await Promise.all(erasures.map((read) => read()));
      return shown.every(({ state }) => state === 'succeeded') || undefined;
    });
  });
}, 400_000);

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
