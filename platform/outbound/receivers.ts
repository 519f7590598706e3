import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { AddressRules } from './address-rules.ts';
import { AllowedHosts } from './allowed-hosts.ts';
import { OutboundClient, type OutboundResult } from './client.ts';
import type { Resolve } from './resolve.ts';

export const LOCAL: Resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
const open: (() => void)[] = [];

/** Closes what a test opened; for afterEach. */
export function closeAll(): void {
  for (const close of open.splice(0)) close();
}

/** Runs at the end of the test. */
export function atEnd(close: () => void): void {
  open.push(close);
}

export interface Received {
  url: string;
  method: string;
  body: string;
  headers: IncomingMessage['headers'];
  socket: unknown;
}

/** A server that answers with `answer` and records what it received. */
export async function receiver(
  answer: (request: Received, response: ServerResponse) => void,
): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', method = '', headers, socket } = request;
      const got = { url, method, headers, socket, body: Buffer.concat(chunks).toString() };
      received.push(got);
      answer(got, response);
    });
  });
  return { port: await listen(server), received };
}

export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.close();
    (server as { closeAllConnections?: () => void }).closeAllConnections?.();
  });
  return (server.address() as AddressInfo).port;
}

export function client(
  options: { allow?: string[]; resolve?: Resolve; timeout?: number } = {},
): OutboundClient {
  const { allow = [], resolve = LOCAL, timeout = 5000 } = options;
  const made = new OutboundClient({
    allowed: new AllowedHosts(allow),
    // Receivers listen at any free port.
    rules: new AddressRules({ ports: 'any' }),
    timeout,
    excerptBytes: 500,
    resolve,
  });
  open.push(() => made.close());
  return made;
}

export const post = (to: OutboundClient, url: string): Promise<OutboundResult> =>
  to.post({ url, headers: { 'X-A': 'b' }, body: '{"سلام":1}' });
