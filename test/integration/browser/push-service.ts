import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * Stands in for the push service of Chromium: answers the check-in of a browser and the
 * registration of a subscription. Chromium cannot be made to give another endpoint than that of
 * fcm.googleapis.com, so messages cannot be delivered through it.
 */
export interface PushService {
  /** What points Chromium to it. */
  switches: string[];
  /** Registered tokens, in order. */
  tokens: string[];
  /** Paths that were asked for, in order. */
  requests: string[];
  close: () => Promise<void>;
}

export async function startPushService(): Promise<PushService> {
  const tokens: string[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    void buffer(request).then((body) => {
      if (path === '/checkin') {
        response.writeHead(200, { 'Content-Type': 'application/x-protobuf' });
        response.end(checkinAnswer());
        return;
      }
      const isDeletion = body.includes('delete=true');
      const token = `${randomBytes(8).toString('hex')}:${randomBytes(24).toString('base64url')}`;
      if (!isDeletion) tokens.push(token);
      response.writeHead(200, { 'Content-Type': 'text/plain' });
      response.end(isDeletion ? 'deleted=1' : `token=${token}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    switches: [
      `--gcm-checkin-url=${url}/checkin`,
      `--gcm-registration-url=${url}/register`,
      `--gcm-mcs-endpoint=https://127.0.0.1:${port}`,
    ],
    ...{ tokens, requests },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** AndroidCheckinResponse: stats_ok = 1, android_id = 7 and security_token = 8, both fixed64. */
function checkinAnswer(): Buffer {
  const fixed = (tag: number) => Buffer.concat([Buffer.of(tag), randomBytes(7), Buffer.of(1)]);
  return Buffer.concat([Buffer.of(0x08, 1), fixed(0x39), fixed(0x41)]);
}
