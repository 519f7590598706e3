import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAccount, makeMember, type Member } from '../contract/control/panel.ts';
import { launch, open, violations } from './panel.ts';

let browser: Browser;
let member: Member;
beforeAll(async () => {
  browser = await launch();
  member = await makeMember(await makeAccount(), 'owner');
});
afterAll(() => browser.close());

it('a member signs in, comes to the page of their link, and signs out', async () => {
  const { page, context } = await open(browser);
  await page.goto('/settings/keys');
  await page.getByLabel('نشانی ایمیل').fill(member.email);
  await page.getByLabel('گذرواژه').fill(member.password);
  await page.getByRole('button', { name: 'ورود', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'کلیدها' }).waitFor();
  await page.getByRole('button', { name: /حساب کاربری شما/ }).click();
  await page.getByRole('button', { name: 'خروج' }).click();
  await page.getByRole('heading', { name: 'ورود به روند' }).waitFor();
  expect((await context.cookies()).map(({ name }) => name)).not.toContain('service_session');
});

it('a wrong password is refused with a sentence, and guesses are throttled', async () => {
  const { page } = await open(browser);
  const guessed = await makeMember(await makeAccount(), 'viewer');
  await page.goto('/sign-in');
  await page.getByLabel('نشانی ایمیل').fill(guessed.email);
  const problem = page.getByRole('alert');
  for (let guess = 0; guess < 30; guess++) {
    await page.getByLabel('گذرواژه').fill(`wrong ${guess}`);
    const answered = page.waitForResponse((answer) => answer.url().endsWith('/api/session'));
    await page.getByRole('button', { name: 'ورود', exact: true }).click();
    await answered;
    await problem.filter({ hasText: /./ }).waitFor();
    const text = await problem.innerText();
    if (text.includes('چند بار پیاپی')) return;
    expect(text).toBe('نشانی ایمیل یا گذرواژه درست نیست.');
  }
  expect.fail('thirty guesses were not throttled');
});

it('without a script the document shows sign-in, but its password cannot be sent', async () => {
  const { page } = await open(browser, { withoutScripts: true });
  await page.goto('/sign-in');
  await page.getByRole('heading', { name: 'ورود به روند' }).waitFor();
  expect(await page.locator('button[type=submit]').isDisabled()).toBe(true);
});

it('what is typed before the application comes stays, with the focus', async () => {
  const { page } = await open(browser);
  const held: (() => void)[] = [];
  await page.route(/assets\/react-/, async (route) => {
    await new Promise<void>((resolve) => held.push(resolve));
    await route.continue();
  });
  await page.goto('/sign-in', { waitUntil: 'commit' });
  await page.getByLabel('نشانی ایمیل').fill(member.email);
  await page.getByLabel('گذرواژه').fill(member.password);
  await expect.poll(() => held.length).toBeGreaterThan(0);
  for (const release of held) release();
  const button = page.getByRole('button', { name: 'ورود', exact: true });
  await expect.poll(() => button.isEnabled()).toBe(true);
  expect(await page.locator('input:focus').getAttribute('name')).toBe('password');
  await button.click();
  await page.getByRole('heading', { level: 1, name: 'نمای کلی' }).waitFor();
});

it.each(['fa', 'en'] as const)('sign-in has no violation of axe in %s', async (language) => {
  const { page, complaints } = await open(browser, { language });
  await page.goto('/sign-in');
  await page.getByRole('button', { name: language === 'fa' ? 'ورود' : 'Sign in' }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

it('another site cannot sign a member out', async () => {
  const { page, context } = await open(browser);
  await page.goto('/sign-in');
  const answer = await context.request.delete('/api/session', {
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  });
  expect(answer.status()).toBe(403);
});
