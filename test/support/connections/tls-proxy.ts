import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Authority } from './certificates.ts';

/** TLS before a server that has none; it asks for a client certificate of the same authority. */
export class TlsProxy {
  readonly port: number;
  connections = 0;
  /** Accepts connections and passes nothing on. */
  isFrozen = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('secureConnection', (client: Socket) => {
      this.connections++;
      this.#keep(client);
      const upstream = this.#keep(connect(target, '127.0.0.1'));
      client.on('data', (data) => {
        if (!this.isFrozen) upstream.write(data);
      });
      upstream.on('data', (data) => {
        if (!this.isFrozen) client.write(data);
      });
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
    });
  }

  static async start(authority: Authority, target: number, port = 0): Promise<TlsProxy> {
    const { cert, key } = authority.issue(`proxy-${Math.random()}`);
    const server = createServer({
      ...{ cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(authority.ca) },
      ...{ requestCert: true, rejectUnauthorized: true },
    });
    server.on('tlsClientError', () => undefined);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new TlsProxy(server, target);
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
