import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers every batch at once; reports how many requests and bytes came since the last report. */
let counts = { requests: 0, bytes: 0 };

const server = createServer((request, response) => {
  request.on('data', (part: Buffer) => (counts.bytes += part.length));
  request.on('end', () => {
    counts.requests++;
    response.writeHead(200, {
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
    });
    response.end('{"status":"ok"}');
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('message', () => {
  process.send?.(counts);
  counts = { requests: 0, bytes: 0 };
});
process.on('disconnect', () => process.exit());
