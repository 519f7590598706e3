import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerEnvelope } from 'smtp-server';
import {
  http2Receiver,
  respond,
  type ReceivedPost,
} from '../../../platform/http2/testing/receivers.ts';
import { selfSigned } from '../../../platform/http2/testing/self-signed.ts';
import { closeAll, receiver, type Received } from '../../../platform/outbound/receivers.ts';

export interface ReceivedMail {
  envelope: SMTPServerEnvelope;
  mail: Buffer;
}

/** Servers that record what providers send and answer that all is well. */
export interface ProviderReceivers {
  /** FCM, APNs and a push service of browsers: HTTP/2 with TLS. */
  push: { url: string; received: ReceivedPost[] };
  /** Kavenegar and messengers: HTTP/1.1. */
  api: { url: string; received: Received[] };
  smtp: { port: number; received: ReceivedMail[] };
  /** Settings of a service that is to reach them. */
  env: NodeJS.ProcessEnv;
  close: () => void;
}

export async function startReceivers(): Promise<ProviderReceivers> {
  const push = await http2Receiver(answerPush);
  const api = await receiver(({ url }, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(answerOf(url));
  });
  const smtp = await mailReceiver();
  const folder = mkdtempSync(join(tmpdir(), 'receivers-'));
  const certificate = join(folder, 'certificate.pem');
  writeFileSync(certificate, selfSigned().cert);
  return {
    push: { url: `https://127.0.0.1:${push.port}`, received: push.received },
    api: { url: `http://127.0.0.1:${api.port}`, received: api.received },
    smtp,
    env: {
      OUTBOUND_ALLOW_HOSTS: [push, api, smtp].map(({ port }) => `127.0.0.1:${port}`).join(','),
      NODE_EXTRA_CA_CERTS: certificate,
    },
    close: () => {
      closeAll();
      smtp.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function answerPush(request: ReceivedPost): void {
  if (request.path.endsWith('/token'))
    respond(request, { body: '{"access_token":"given-token","expires_in":3600}' });
  else if (request.path.includes('messages:send'))
    respond(request, { body: '{"name":"projects/shop-1/messages/1"}' });
  else if (request.path.includes('/3/device/')) respond(request);
  else respond(request, { status: 201, headers: { location: 'https://push.example/m/1' } });
}

function answerOf(url: string): string {
  if (url.includes('/sms/'))
    return '{"return":{"status":200,"message":""},"entries":[{"messageid":1,"status":1}]}';
  return url.startsWith('/v3/')
    ? '{"status":"OK","data":{"message_id":"1"}}'
    : '{"ok":true,"result":{"message_id":1}}';
}

async function mailReceiver() {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    ...{ authOptional: true, hideDSN: false, logger: false, disableReverseLookup: true },
    ...{ disabledCommands: ['STARTTLS', 'AUTH'], closeTimeout: 100 },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      // It is emptied when the callback runs.
      const envelope = structuredClone(session.envelope);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        received.push({ envelope, mail: Buffer.concat(chunks) });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  return { port, received, close: () => server.close(() => undefined) };
}
