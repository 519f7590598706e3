import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { CommandContext } from '../command.ts';
import type { Ready } from '../stack/ready.ts';
import { print } from '../terminal.ts';
import { shopPage, type ShopLanguage } from './shop-page.ts';

/**
 * `./ravand demo --shop`: serves a small shop with the SDK until Ctrl-C. What somebody clicks there
 * is in the reports of the demo account.
 */
export async function serveShop(ready: Ready, { checkout }: CommandContext): Promise<number> {
  const snippet = readFileSync(join(checkout, 'sdk/browser/snippet.html'), 'utf8')
    .replaceAll('INGEST_HOST', ready.ingest_url)
    .replaceAll('WRITE_KEY', ready.demo.write_key);
  const liveUrl = `${ready.panel_url}/live`;
  const site = await openShopSite((language) => shopPage({ language, snippet, liveUrl }));
  print(`the shop: ${site.url} (in English: ${site.url}en/)`);
  const { email, password } = ready.demo.member;
  print(`its events: ${liveUrl}, sign in as ${email} with ${password}`);
  print('Ctrl-C ends it');
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  site.close();
  return 0;
}

/** Serves the page under every path, in English under /en/, on a free port of this machine. */
export async function openShopSite(
  pageIn: (language: ShopLanguage) => string,
): Promise<{ url: string; close: () => void }> {
  const server: Server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://shop');
    const isPage = !/\.\w+$/.test(pathname);
    response.writeHead(isPage ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    });
    response.end(isPage ? pageIn(pathname.startsWith('/en/') ? 'en' : 'fa') : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
