import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** Of a batch: the message ids. */
  ids: string[];
}

/** An answer; `drop`: the connection is cut when the request has arrived. */
export type HostAnswer =
  { status: number; body?: unknown; headers?: Record<string, string> } | 'drop';

/** What a host answers next: to a batch it answers 200 unless the test says otherwise. */
export interface TestHost {
  url: string;
  received: Received[];
  /** That clients opened. */
  connections: number;
  /** For the next requests, in order. */
  next: HostAnswer[];
  /** For all other requests. */
  otherwise: (received: Received) => HostAnswer;
  close: () => Promise<void>;
}

const accepted = ({ ids }: Received): HostAnswer => ({
  status: 200,
  body: { status: 'ok', accepted: ids.length },
});

export async function startHost(): Promise<TestHost> {
  const server: Server = createServer((request, response) => {
    void text(request).then((sent) => {
      const body = JSON.parse(sent) as { batch?: { message_id: string }[] };
      const received: Received = {
        path: request.url ?? '',
        headers: request.headers,
        body: body,
        ids: (body.batch ?? []).map(({ message_id }) => message_id),
      };
      host.received.push(received);
      const answer = host.next.shift() ?? host.otherwise(received);
      if (answer === 'drop') {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        ...answer.headers,
      });
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
  server.on('connection', () => host.connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host: TestHost = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    connections: 0,
    next: [],
    otherwise: accepted,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return host;
}
