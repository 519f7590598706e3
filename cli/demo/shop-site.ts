import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { CommandContext } from '../command.ts';
import type { Ready } from '../stack/ready.ts';
import { print } from '../terminal.ts';
import { shopPage } from './shop-page.ts';

/**
 * `./ravand demo --shop`: serves a small shop with the SDK until Ctrl-C. What somebody clicks there
 * is in the reports of the demo account.
 */
export async function serveShop(ready: Ready, { checkout }: CommandContext): Promise<number> {
  const snippet = readFileSync(join(checkout, 'sdk/browser/snippet.html'), 'utf8')
    .replaceAll('INGEST_HOST', ready.ingest_url)
    .replaceAll('WRITE_KEY', ready.demo.write_key);
  const site = await openShopSite(shopPage(snippet));
  print(`the shop: ${site.url}`);
  const { email, password } = ready.demo.member;
  print(`its events: ${ready.panel_url}/live, sign in as ${email} with ${password}`);
  print('Ctrl-C ends it');
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  site.close();
  return 0;
}

/** Serves the page under every path, on a free port of this machine. */
export async function openShopSite(page: string): Promise<{ url: string; close: () => void }> {
  const server: Server = createServer((request, response) => {
    const isPage = !/\.\w+$/.test(new URL(request.url ?? '/', 'http://shop').pathname);
    response.writeHead(isPage ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    });
    response.end(isPage ? page : '');
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
