import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An endpoint that reads each request and answers 204. Sends its port to its parent, and the number
 * of requests on demand.
 */
let requests = 0;
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    requests++;
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on('message', () => process.send?.({ requests }));
process.on('disconnect', () => process.exit(0));
