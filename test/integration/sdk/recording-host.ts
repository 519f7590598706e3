import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface Event {
  type: string;
  event?: string;
  message_id: string;
  timestamp: string;
  user_id?: string;
  anonymous_id: string;
  properties?: Record<string, unknown>;
  context: {
    page: { url: string; path: string; title: string; referrer: string };
    session_id: string;
    campaign: Record<string, string>;
  };
}

export interface Balance {
  made: number;
  stored: number;
  sent: number;
  dropped: Record<string, number>;
}

/** A stand-in for the ingest host: it deduplicates by message id, and serves the SDK. */
export interface RecordingHost {
  url: string;
  /** Each message id once, in the order of the first arrival. */
  events: Map<string, Event>;
  /** Items of batches, with copies. */
  items: number;
  preflights: number;
  /** By client, the newest. */
  balances: Map<string, Balance>;
  /** Of POSTs to other routes, in order. */
  posted: { path: string; body: Record<string, unknown> }[];
  /** For GET /v1/onsite. */
  campaigns: object[];
  /** Of other POSTs, by path. */
  answers: Record<string, { status: number; body: object }>;
  close: () => Promise<void>;
}

export async function startRecordingHost(sdkFolder: string): Promise<RecordingHost> {
  const host: RecordingHost = {
    ...{ url: '', events: new Map(), items: 0, preflights: 0, balances: new Map() },
    ...{ posted: [], campaigns: [], answers: {} },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  const answer = (response: ServerResponse, status: number, body: object) =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
      .end(JSON.stringify(body));

  const receiveBatch = async (request: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse(await text(request)) as {
      batch: Event[];
      context: { library: { client: string; balance: Balance } };
    };
    const { client, balance } = body.context.library;
    host.balances.set(client, balance);
    for (const event of body.batch) {
      host.items++;
      if (!host.events.has(event.message_id)) host.events.set(event.message_id, event);
    }
    answer(response, 200, { status: 'ok', accepted: body.batch.length });
  };

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://host');
    if (request.method === 'OPTIONS') {
      host.preflights++;
      response.writeHead(405).end();
    } else if (pathname.startsWith('/sdk/')) {
      response.writeHead(200, {
        'content-type': 'text/javascript',
        'access-control-allow-origin': '*',
      });
      response.end(readFileSync(join(sdkFolder, pathname.slice('/sdk/'.length))));
    } else if (pathname === '/v1/batch') receiveBatch(request, response).catch(unlessAborted);
    else if (pathname === '/v1/onsite') answer(response, 200, { campaigns: host.campaigns });
    else
      text(request)
        .then((sent) => {
          host.posted.push({ path: pathname, body: JSON.parse(sent) as Record<string, unknown> });
          const { status, body } = host.answers[pathname] ?? {
            ...{ status: 200, body: { status: 'ok' } },
          };
          answer(response, status, body);
        })
        .catch(unlessAborted);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return host;
}

/** A page that is closed aborts its requests. */
function unlessAborted(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
}
