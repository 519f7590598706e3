import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { findChromium } from '../browser/find-chromium.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const SNIPPET = readFileSync(join(CHECKOUT, 'sdk/browser/snippet.html'), 'utf8');
export const KEY = 'wk_svc_0123456789012345678901234567890123456789012';

/** The methods of `window.ravand` that tests call, as a page has them. */
export interface PageRavand {
  load(key: string, options?: object): PageRavand;
  track(event: string, properties?: object, options?: object): string;
  identify(userId: string, traits?: object): string;
  page(name?: string): string;
  reset(): void;
  consent(state: string): void;
  flush(): Promise<{ sent: number; pending: number }>;
  anonymousId(): string;
  userId(): string | undefined;
  on(name: string, listen: (value: never) => void): void;
  webPush(): Promise<{ subscribe(): Promise<boolean>; unsubscribe(): Promise<void> }>;
  inbox(proof: () => object): Promise<PageInbox>;
}

interface PageInbox {
  list(page: { limit?: number; before?: string }): Promise<{ messages: { id: string }[] }>;
  markRead(ids: string[]): Promise<{ unread: number }>;
  markAllRead(): Promise<{ unread: number }>;
}

/** The global object of a page; that of this process has another type. */
export type ShopWindow = typeof globalThis & {
  ravand: PageRavand;
  history: { pushState(...change: unknown[]): void; replaceState(...change: unknown[]): void };
  localStorage: { length: number; setItem(key: string, value: string): void; clear(): void };
  document: { title: string };
  location: { href: string; hash: string };
};

/** Builds what the ingest host serves; the folder is kept for other runs. */
export function builtSdk(): string {
  const folder = join(CHECKOUT, '.ravand/sdk');
  execFileSync(process.execPath, [join(CHECKOUT, 'sdk/build.ts'), folder], { cwd: CHECKOUT });
  return folder;
}

/** Pages with the snippet, on an origin of their own. */
export interface Shop {
  origin: string;
  /** What pages give to `load`. */
  options: Record<string, unknown>;
  /** Of all pages from now on. */
  headers: Record<string, string>;
  close: () => Promise<void>;
}

export async function openShop(ingestUrl: string, writeKey = KEY): Promise<Shop> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://shop');
    if (pathname === '/ravand-worker.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      response.end(`importScripts(${JSON.stringify(`${ingestUrl}/sdk/worker.js`)});`);
      return;
    }
    const snippet = SNIPPET.replaceAll('INGEST_HOST', ingestUrl).replace(
      "ravand.load('WRITE_KEY');",
      `ravand.load('${writeKey}', ${JSON.stringify(shop.options)});`,
    );
    const plain = pathname === '/plain' ? '' : snippet;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...shop.headers });
    response.end(
      `<!doctype html><html lang="fa" dir="rtl"><head><title>${pathname}</title>${plain}</head>
       <body><a id="next" href="/next">بعد</a><button id="button">خرید</button></body></html>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const shop: Shop = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ options: {}, headers: {} },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return shop;
}

/** @param without switches that Playwright would add */
export const launch = (args: string[] = [], without: string[] = []): Promise<Browser> =>
  chromium.launch({
    ignoreDefaultArgs: without,
    executablePath: findChromium(process.env),
    // Chromium refuses its sandbox to root, and containers often have none.
    args: ['--no-sandbox', '--disable-gpu', ...args],
  });

/** A page of the shop on which the SDK runs. */
export async function openPage(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await loaded(page);
  return page;
}

export const loaded = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => {
    const { ravand } = globalThis as ShopWindow;
    return !('q' in ravand) || ravand.q === undefined;
  });

export const flush = (page: Page): Promise<{ sent: number; pending: number }> =>
  page.evaluate(() => (globalThis as ShopWindow).ravand.flush());

export const track = (page: Page, event: string, properties: object = {}): Promise<string> =>
  page.evaluate(([name, more]) => (globalThis as ShopWindow).ravand.track(name, more), [
    event,
    properties,
  ] as const);
