import { AxeBuilder } from '@axe-core/playwright';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { findChromium } from '../integration/browser/find-chromium.ts';
import { createAccount, readyStack, type TestAccount } from '../support/stack.ts';
import { enter } from '../contract/control/panel.ts';

export type Language = 'fa' | 'en';

export interface Opened {
  page: Page;
  context: BrowserContext;
  /** What the console said besides what the test provoked: errors, and what the policy refused. */
  complaints: string[];
}

/** One Chromium; `--no-sandbox` because tests run as root in containers. */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(process.env),
    args: ['--no-sandbox'],
  });
}

interface Visit {
  session?: string;
  language?: Language;
  width?: number;
  withoutScripts?: true;
}

/** A page of a new browser profile, signed in with a session. */
export async function open(
  browser: Browser,
  { session, language = 'fa', width = 1280, withoutScripts }: Visit = {},
): Promise<Opened> {
  const url = readyStack().panel_url;
  const context = await browser.newContext({
    ...{ baseURL: url, viewport: { width, height: 900 } },
    javaScriptEnabled: !withoutScripts,
  });
  await context.addCookies([
    { name: 'language', value: language, url },
    ...(session === undefined ? [] : [{ name: 'service_session', value: session, url }]),
  ]);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, context, complaints };
}

/** The rules of axe that a page breaks, with the elements. */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  const builder = new AxeBuilder({ page });
  const { violations: found } = await (rules ? builder.withRules(rules) : builder).analyze();
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

export interface PanelAccount extends TestAccount {
  /** Session of an owner. */
  owner: string;
}

/** An account with an owner who is signed in. */
export async function panelAccount(name: string): Promise<PanelAccount> {
  const account = await createAccount(name);
  return { ...account, owner: await enter(String(account.accountId)) };
}

interface Sent {
  event: string;
  user_id: string;
  properties?: Record<string, unknown>;
}

/** Sends events as a client does. */
export async function send({ writeKey }: TestAccount, events: readonly Sent[]): Promise<void> {
  const answer = await fetch(`${readyStack().ingest_url}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${writeKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ batch: events.map((event) => ({ type: 'track', ...event })) }),
  });
  if (answer.status !== 200) throw new Error(`ingest answered ${answer.status}`);
}

/** The address of a page in a state. */
export function link(path: string, search: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(search).map(
    ([name, value]) =>
      `${name}=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`,
  );
  return `${path}?${pairs.join('&')}`;
}
