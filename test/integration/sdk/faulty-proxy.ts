import { createServer, request as forward } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * What becomes of a request with events: `lost`: the host answers it, and the client does not get
 * the answer; `refuse`: the connection is cut before the host gets it; 503: of the host; 429: of a
 * proxy that says nothing to pages of other origins.
 */
export type Fault = 'none' | 'lost' | 'refuse' | 503 | 429;

export interface FaultyProxy {
  url: string;
  /** Of every second POST. */
  fault: Fault;
  /** POSTs, by what became of them. */
  counts: Map<Fault, number>;
  close: () => Promise<void>;
}

/** Stands between clients and a host. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  let posts = 0;
  const proxy: FaultyProxy = {
    ...{ url: '', fault: 'none', counts: new Map<Fault, number>() },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  const server = createServer((request, response) => {
    const isPost = request.method === 'POST';
    const fault = isPost && posts++ % 2 === 0 ? proxy.fault : 'none';
    if (isPost) proxy.counts.set(fault, (proxy.counts.get(fault) ?? 0) + 1);
    pass({ request, response, target, fault }).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

interface Passing {
  request: IncomingMessage;
  response: ServerResponse;
  target: string;
  fault: Fault;
}

async function pass({ request, response, target, fault }: Passing): Promise<void> {
  const body = await buffer(request);
  if (fault === 503) {
    response.writeHead(503, { 'access-control-allow-origin': '*' });
    response.end('{"status":"error","message":"temporarily unavailable, please retry"}');
    return;
  }
  if (fault === 429) {
    response.writeHead(429, { 'content-type': 'text/html', 'retry-after': '1' });
    response.end('<h1>Too Many Requests</h1>');
    return;
  }
  const answer = fault === 'refuse' ? undefined : await ask(request, { target, body });
  if (!answer || fault === 'lost') {
    request.socket.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers).end(answer.body);
}

function ask(
  { method, url, headers }: IncomingMessage,
  { target, body }: { target: string; body: Buffer },
): Promise<{ status: number; headers: OutgoingHttpHeaders; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const given = { ...headers, 'content-length': body.length };
    const options = { headers: given, ...(method !== undefined && { method }) };
    const sent = forward(new URL(url ?? '/', target), options, (answer) => {
      buffer(answer).then((read) => {
        resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: read });
      }, reject);
    });
    sent.on('error', reject).end(body);
  });
}
