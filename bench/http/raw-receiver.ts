import { createServer, type AddressInfo } from 'node:net';
import { MessageReader } from './message-reader.ts';

/** As the API of Bale answers what it accepts. */
const ACCEPTED = '{"ok":true,"result":{"message_id":1}}';
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${ACCEPTED.length}\r\n\r\n${ACCEPTED}`;

/** Accepts each message after `latency` ms. */
export async function listenRaw(latency: number): Promise<{ port: number; close: () => void }> {
  const server = createServer({ noDelay: true }, (socket) => {
    const reader = new MessageReader();
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const message of reader.read(chunk))
        setTimeout(() => message.body.length > 0 && socket.write(ANSWER), latency);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}
