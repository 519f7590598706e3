import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '../../platform/http2/testing/self-signed.ts';

/**
 * A push service that reads each message and accepts it. Sends its port and its certificate to its
 * parent, and the number of messages on demand.
 */
let messages = 0;
const TOKEN = JSON.stringify({ access_token: 't'.repeat(1000), expires_in: 3600 });
const certificate = selfSigned();
const server = createSecureServer({ ...certificate, settings: { maxConcurrentStreams: 1000 } });
server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined);
  stream.resume();
  if (headers[':path'] === '/token') {
    stream.respond({ ':status': 200 });
    stream.end(TOKEN);
    return;
  }
  messages++;
  stream.respond({ ':status': 200 }, { endStream: true });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, cert: certificate.cert.toString() });
});
process.on('message', () => process.send?.({ messages }));
process.on('disconnect', () => process.exit(0));
