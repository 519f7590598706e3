import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A host of pages, an origin of its own: nothing that they send goes back to it. /worker.js is a
 * service worker.
 */
export async function hostPages(): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.url === '/worker.js') {
      response.writeHead(200, { 'Content-Type': 'text/javascript' });
      response.end("addEventListener('push', () => undefined);");
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Set-Cookie': 'visitor=1',
    });
    response.end('<!doctype html><html lang="fa"><title>فروشگاه</title><p>سلام</p></html>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
