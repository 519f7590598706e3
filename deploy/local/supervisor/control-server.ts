import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ControlReply, ControlRequest } from '../../../cli/stack/control-protocol.ts';

interface Exchange {
  reply: (message: ControlReply) => void;
  /** Called when the client closes the connection. */
  onClose: (listener: () => void) => void;
}

type Serve = (request: ControlRequest, exchange: Exchange) => Promise<void>;

/**
 * Listens on the control socket; each connection is one request and its replies. Only the owner of
 * the folder can reach it.
 */
export async function listenForControl(path: string, serve: Serve): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer((socket) => accept(socket, serve));
  const umask = process.umask(0o177);
  try {
    await once(server.listen(path), 'listening');
  } finally {
    process.umask(umask);
  }
  return server;
}

function accept(socket: Socket, serve: Serve): void {
  const reply = (message: ControlReply) => {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
  };
  socket.on('error', () => socket.destroy());
  const lines = createInterface({ input: socket });
  // It repeats the errors of the socket.
  lines.on('error', () => undefined);
  lines.once('line', (line) => {
    let request: ControlRequest;
    try {
      request = JSON.parse(line) as ControlRequest;
    } catch {
      socket.destroy();
      return;
    }
    serve(request, { reply, onClose: (listener) => socket.on('close', listener) })
      .catch((error: unknown) =>
        reply({ event: 'end', error: error instanceof Error ? error.message : String(error) }),
      )
      .finally(() => socket.end());
  });
}
