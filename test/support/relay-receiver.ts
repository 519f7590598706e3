import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { relaySignature } from '../../events/relays/request-headers.ts';

/** One request that came, whether it was answered well or not. */
export interface RelayRequest {
  messageId: string;
  /** When it was there, ms since the epoch. */
  at: number;
  /** Answered with 2xx. */
  isAccepted: boolean;
  /** The signature is the one of these bytes under the receiver's secret. */
  isSigned: boolean;
  headers: IncomingMessage['headers'];
  body: string;
}

/** How it answers: a status (with a body for failures), an address to go to, or not at all. */
export type Behaviour = (request: {
  messageId: string;
}) => { status: number; body?: string; location?: string } | 'silent';

export interface RelayReceiver {
  port: number;
  url: string;
  requests: RelayRequest[];
  behave(behaviour: Behaviour): void;
  /** Message ids that were answered with 2xx, with how often. */
  accepted(): Map<string, number>;
  close(): Promise<void>;
}

export const RELAY_SECRET = 'a secret of the receiver';

/**
 * An endpoint of a relay on 127.0.0.1, at a free port or the given one; answers 200 until
 * `behave` changes it.
 */
export async function startRelayReceiver(port = 0): Promise<RelayReceiver> {
  const requests: RelayRequest[] = [];
  let behaviour: Behaviour = () => ({ status: 200 });
  const answer = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const at = Date.now();
    const { message_id: messageId } = JSON.parse(body) as { message_id: string };
    const chosen = behaviour({ messageId });
    const timestamp = Number(request.headers['x-service-timestamp']);
    const isSigned =
      request.headers['x-service-signature'] ===
      relaySignature({ secret: RELAY_SECRET, timestamp, payload: body });
    const isAccepted = chosen !== 'silent' && chosen.status >= 200 && chosen.status < 300;
    requests.push({ messageId, at, isAccepted, isSigned, headers: request.headers, body });
    if (chosen === 'silent') return;
    response
      .writeHead(chosen.status, chosen.location === undefined ? {} : { location: chosen.location })
      .end(chosen.body ?? '');
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString('utf8')));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}/hook`,
    requests,
    behave: (next) => (behaviour = next),
    accepted() {
      const counts = new Map<string, number>();
      for (const { messageId, isAccepted } of requests)
        if (isAccepted) counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
      return counts;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
