import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatAddress, type Address } from '../../platform/setting-kinds.ts';
import type { SandboxAnswer } from './receivers/receiver.ts';
import type { SandboxRoutes } from './routes.ts';

const MAX_BODY_BYTES = 2 ** 20;
const MAX_CONNECTIONS = 500;
const ALWAYS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** Serves the routes over HTTP/1.1. */
export async function startHttpServer({
  address,
  routes,
}: {
  address: Address;
  routes: SandboxRoutes;
}): Promise<{ address: Address; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const host = request.headers.host ?? '';
    // A page elsewhere could resolve its own name to this machine and read the messages.
    if (!isOwnHost(host, address.host)) {
      send(response, { status: 421, body: '{"error":"this is not a name of the sandbox"}' });
      return;
    }
    void readBody(request).then((body) => {
      if (body === undefined) {
        send(response, { status: 413, body: '{"error":"the body is too large"}' });
        return;
      }
      const { method = '', url: path = '', headers } = request;
      const single = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
      );
      send(response, routes({ method, path, origin: `http://${host}`, headers: single, body }));
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: address.host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Loopback, or what the operator lets it listen on. */
function isOwnHost(host: string, listener: string): boolean {
  const name = URL.parse(`http://${host}/`)?.hostname ?? '';
  const listening = URL.parse(`http://${formatAddress({ host: listener, port: 1 })}/`)?.hostname;
  return ['localhost', '127.0.0.1', '[::1]', listening].includes(name);
}

function send(response: ServerResponse, { status, headers, body = '' }: SandboxAnswer): void {
  const type = body === '' ? {} : { 'Content-Type': 'application/json; charset=utf-8' };
  response.writeHead(status, { ...ALWAYS, ...type, ...headers }).end(body);
}

/** Undefined when it is too large. Of a client that goes nothing is heard any more. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
