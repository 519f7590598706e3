import { connect, type Socket } from 'node:net';
import { MessageReader } from './message-reader.ts';

interface Post {
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
}

interface Answer {
  status: number;
  text: string;
}

interface Connection {
  socket: Socket;
  waiting: PromiseWithResolvers<Answer> | undefined;
}

/**
 * Posts over as many connections as are needed, at most `max`, one request at a time on each. It
 * takes less CPU than node:http: the measured host has only what its client leaves.
 */
export class RawClient {
  readonly #address: { hostname: string; port: number };
  readonly #max: number;
  /** The one that was used last comes first: the host closes those that are idle. */
  #free: Connection[] = [];
  readonly #queue: { bytes: string | Buffer; waiting: PromiseWithResolvers<Answer> }[] = [];
  readonly #all = new Set<Connection>();

  /** @param options.url of the host */
  constructor({ url, max }: { url: string; max: number }) {
    const { hostname, port } = new URL(url);
    this.#address = { hostname, port: Number(port) };
    this.#max = max;
  }

  /** Rejects when the connection fails or ends before the answer. */
  post({ path, headers, body }: Post): Promise<Answer> {
    const { hostname, port } = this.#address;
    const head = [
      ...[`POST ${path} HTTP/1.1`, `Host: ${hostname}:${port}`],
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    const before = `${head.join('\r\n')}\r\n\r\n`;
    const bytes =
      typeof body === 'string' ? before + body : Buffer.concat([Buffer.from(before), body]);
    const waiting = Promise.withResolvers<Answer>();
    const connection = this.#free.pop() ?? this.#open();
    if (connection) this.#send(connection, { bytes, waiting });
    else this.#queue.push({ bytes, waiting });
    return waiting.promise;
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #open(): Connection | undefined {
    if (this.#all.size >= this.#max) return undefined;
    const socket = connect({
      host: this.#address.hostname,
      port: this.#address.port,
      noDelay: true,
    });
    const connection: Connection = { socket, waiting: undefined };
    const reader = new MessageReader();
    socket.on('data', (chunk: Buffer) => {
      for (const { head, body } of reader.read(chunk))
        this.#answered(connection, { status: Number(head.slice(9, 12)), text: body.toString() });
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#all.delete(connection);
      this.#free = this.#free.filter((one) => one !== connection);
      connection.waiting?.reject(new Error('the host closed a connection'));
    });
    this.#all.add(connection);
    return connection;
  }

  #send(
    connection: Connection,
    { bytes, waiting }: { bytes: string | Buffer; waiting: PromiseWithResolvers<Answer> },
  ): void {
    connection.waiting = waiting;
    connection.socket.write(bytes);
  }

  #answered(connection: Connection, answer: Answer): void {
    const { waiting } = connection;
    connection.waiting = undefined;
    const next = this.#queue.shift();
    if (next) this.#send(connection, next);
    else this.#free.push(connection);
    waiting?.resolve(answer);
  }
}
