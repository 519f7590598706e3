import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { presentedKey } from '../auth/presented-key.ts';
import type { Verification, WriteKeys } from '../auth/write-keys.ts';
import type { Principal } from '../../ingest/account.ts';
import type { BodyBudget } from '../http/body.ts';
import type { Answer } from '../http/render.ts';
import type { EventRoute } from '../http/routes.ts';
import { Connection } from './connection.ts';
import type { Head } from './parse-head.ts';
import type { KeepAlive } from './write-answer.ts';

/** How long a client may take, ms. */
export interface Limits {
  /** For a request to arrive. */
  read: number;
  /** For an answer to be taken. */
  write: number;
  /** Between two requests. */
  idle: number;
  /** To read the answer to a request that came too slowly. */
  lastWords: number;
}

/** A whole request of a verified key. */
export interface WholeRequest {
  route: EventRoute;
  principal: Principal;
  head: Head;
  body: Buffer;
  trace: string;
  /** Address of the other end of the connection. */
  remote: string | undefined;
}

export interface FastPathOptions {
  routes: ReadonlyMap<string, EventRoute>;
  keys: Pick<WriteKeys, 'verify'>;
  budget: BodyBudget;
  maxBodyBytes: number;
  limits: Limits;
  now: () => number;
  /** Never rejects. */
  submit: (request: WholeRequest) => Promise<Answer>;
  /** True while the process is stopping. */
  isClosing: () => boolean;
}

function principalOf(verification: Verification): Principal | undefined {
  return typeof verification === 'string' ? undefined : verification;
}

const CHECK_EVERY_MS = 1000;

/**
 * Serves common requests of write-key routes straight from their sockets: node:http alone would
 * cost more than everything else that a single event needs (bench/gateway.ts shows both). Whatever
 * is not common goes to node:http: see Connection.
 */
export class FastPath {
  readonly options: FastPathOptions;
  readonly #connections = new Set<Connection>();
  readonly #watch: NodeJS.Timeout;
  #isClosed = false;
  #handOver: (socket: Socket) => void = () => undefined;
  readonly keepAlive: KeepAlive;

  constructor(options: FastPathOptions) {
    this.options = options;
    this.keepAlive = { seconds: Math.floor(options.limits.idle / 1000) };
    this.#watch = setInterval(() => this.#endOverdue(), CHECK_EVERY_MS);
    this.#watch.unref();
  }

  /**
   * Takes the connections of a server first; those that are handed over reach the server's own
   * listeners.
   */
  attach(server: Server): void {
    const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    this.#handOver = (socket) => {
      for (const listener of listeners) listener.call(server, socket);
    };
    server.on('connection', (socket: Socket) =>
      this.#connections.add(new Connection(socket, this)),
    );
  }

  /** Ends the connections on which nothing is under way; the others end with their answers. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#watch);
    for (const connection of this.#connections) connection.endIdle();
  }

  /** True while this lane or the process is stopping: each answer is the last on its connection. */
  get isClosing(): boolean {
    return this.#isClosed || this.options.isClosing();
  }

  keyOf(head: Head): string | undefined {
    return presentedKey(
      { authorization: head.authorization, 'x-service-key': head.serviceKey },
      head.query,
    );
  }

  /**
   * Undefined for a key that is not valid or cannot be verified: that has its answer elsewhere.
   * Never rejects.
   */
  verify(key: string): Principal | undefined | Promise<Principal | undefined> {
    const known = this.options.keys.verify(key);
    return known instanceof Promise ? known.then(principalOf) : principalOf(known);
  }

  handOver(socket: Socket): void {
    this.#handOver(socket);
  }

  leave(connection: Connection): void {
    this.#connections.delete(connection);
  }

  #endOverdue(): void {
    const now = this.options.now();
    for (const connection of this.#connections) connection.endOverdue(now);
  }
}
