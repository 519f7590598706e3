import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { CHECK_EVERY_MS } from '../../platform/http/client-clock.ts';
import { OccupiedTimer } from '../../platform/http/occupied-timer.ts';
import type { WaitingConnection } from '../../platform/http/waiting-connection.ts';
import { Connection, type ConnectionOptions } from './connection.ts';

export interface FastPathOptions extends Omit<
  ConnectionOptions,
  'keepAlive' | 'handOver' | 'leave' | 'isLast'
> {
  events: ConnectionOptions['events'] & { readonly isClosing: boolean };
}

/**
 * Serves common requests of write-key routes straight from their sockets: node:http alone costs
 * more than everything else that a single event needs (bench/gateway.ts shows both). Other requests
 * go to node:http: see Connection.
 */
export class FastPath {
  readonly #options: FastPathOptions;
  readonly #connections = new Set<Connection>();
  readonly #timer = new OccupiedTimer({
    everyMs: CHECK_EVERY_MS,
    isOccupied: () => this.#connections.size > 0,
    check: () => this.check(),
  });
  #isClosed = false;

  constructor(options: FastPathOptions) {
    this.#options = options;
  }

  /** Intercepts the connections of a server; its own listeners get those that are handed over. */
  attach(server: Server): void {
    const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    const options: ConnectionOptions = {
      ...this.#options,
      keepAlive: { seconds: Math.floor(this.#options.limits.idle / 1000) },
      handOver: (socket) => {
        for (const listener of listeners) listener.call(server, socket);
      },
      leave: (connection) => this.#connections.delete(connection),
      isLast: () => this.#isClosed || this.#options.events.isClosing,
    };
    server.on('connection', (socket: Socket) => {
      this.#connections.add(new Connection(socket, options));
      this.#timer.occupied();
    });
  }

  /** Ends idle connections; the others end with their answers. */
  close(): void {
    this.#isClosed = true;
    this.#timer.end();
    for (const connection of this.#connections) connection.endIdle();
  }

  /** The connections for which nothing is being done. */
  *waiting(): Iterable<WaitingConnection> {
    for (const { waiting } of this.#connections) if (waiting) yield waiting;
  }

  /** Ends connections that are overdue. */
  check(): void {
    this.#options.clock.check();
    for (const connection of this.#connections) connection.endOverdue();
  }
}
