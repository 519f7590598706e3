import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Bundle } from './bundle.ts';
import type { Arrived, Candidate } from './candidates.ts';

/** A host that takes everything, and remembers it. */
export interface Recorder {
  url: string;
  /** Every copy of every event. */
  arrived: Arrived[];
  requests: number;
  preflights: number;
  close: () => Promise<void>;
}

const PERMISSIVE = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-allow-methods': '*',
};

/** @param files what pages of it load; it is made when the address is known */
export async function startRecorder(candidate: Candidate, files: () => Bundle): Promise<Recorder> {
  const recorder: Recorder = {
    ...{ url: '', arrived: [], requests: 0, preflights: 0 },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const { pathname } = new URL(request.url ?? '/', 'http://host');
      const send = (type: string, text: string) =>
        response.writeHead(200, { 'content-type': type, ...PERMISSIVE }).end(text);
      if (request.method === 'OPTIONS') {
        recorder.preflights++;
        return send('text/plain', '');
      }
      if (request.method === 'POST') {
        recorder.requests++;
        recorder.arrived.push(...eventsIn(candidate, body));
        return send('application/json', '{"status":"ok","success":true}');
      }
      const bundle = files();
      const code = bundle.files.get(pathname);
      if (code !== undefined) return send('text/javascript', code);
      if (pathname === '/')
        return send(
          'text/html; charset=utf-8',
          `<!doctype html><title>shop</title><script type="module" src="${bundle.entry}"></script>`,
        );
      const settings = candidate.settings(pathname);
      if (settings) return send('application/json', JSON.stringify(settings));
      return response.writeHead(404, PERMISSIVE).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  recorder.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return recorder;
}

/** Of requests that hold no events, none. */
function eventsIn({ eventsOf }: Candidate, body: Buffer): Arrived[] {
  try {
    return eventsOf(body);
  } catch {
    return [];
  }
}
