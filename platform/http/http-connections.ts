import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CHECK_EVERY_MS, ClientClock } from './client-clock.ts';
import { OccupiedTimer } from './occupied-timer.ts';
import { isSilent, isSlowBody, type WaitingConnection } from './waiting-connection.ts';

/** How long a client may keep a connection waiting, ms. */
export interface ClientLimits {
  /** For the head of a request, from its first byte; a new connection has as long. */
  head: number;
  /** Between two pieces of a body. */
  bodyIdle: number;
  /** For a whole body: what comes byte by byte must end, too. */
  body: number;
  /** Between two pieces of an answer that it reads; Infinity: the host bounds answers itself. */
  write: number;
}

/**
 * A connection with more requests in progress ends at once. node:http reads up to 2 MiB of it, tens
 * of thousands of requests, in one turn of the event loop, and cannot be made to wait.
 */
const MAX_IN_PROGRESS = 1000;

/** @param isAnswered the request that is not complete has its answer already */
type AfterAnswers = (isAnswered: boolean) => void;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  startedAt: number;
  /** Bytes of the connection that were read before. */
  before: number;
}

interface Connection {
  socket: Socket;
  /** Requests without a finished answer, in order. */
  exchanges: Set<Exchange>;
  /** The last request, while it is not complete. */
  incomplete: Exchange | undefined;
  /** Bytes read and bytes to be written at the last check, and when they changed. */
  read: number;
  unwritten: number;
  readAt: number;
  writtenAt: number;
  /** When the head began that is being read; undefined while the connection is idle. */
  headSince: number | undefined;
  isOverdue: boolean;
  hasAnswered: boolean;
  onAnswered: AfterAnswers | undefined;
}

interface Options {
  server: Server;
  limits: ClientLimits;
  clock?: ClientClock;
  /** Answers a request whose body is overdue, as the last one; without it the connection ends. */
  answerOverdue?: (request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * The connections of a node:http server: bounds how long clients keep them waiting. Replaces
 * requestTimeout and headersTimeout of node:http, which bound a body however fast it arrives,
 * answer 408, which clients do not retry, and end connections after a pause of the process.
 * A connection whose head is overdue ends without an answer.
 */
export class HttpConnections {
  readonly #options: Options;
  readonly #clock: ClientClock;
  readonly #connections = new Map<Duplex, Connection>();
  readonly #timer = new OccupiedTimer({
    everyMs: CHECK_EVERY_MS,
    isOccupied: () => this.#connections.size > 0,
    check: () => this.check(),
  });

  constructor(options: Options) {
    this.#options = options;
    this.#clock = options.clock ?? new ClientClock();
    const { server } = options;
    Object.assign(server, { requestTimeout: 0, headersTimeout: 0, timeout: 0 });
    server.on('connection', this.#add);
    server.prependListener('request', this.#begin);
    server.prependListener('checkExpectation', this.#begin);
    server.once('close', () => this.#timer.end());
  }

  /** Requests of the connection that are not answered. */
  inProgress(socket: Duplex): number {
    return this.#connections.get(socket)?.exchanges.size ?? 0;
  }

  /** True while an answer is being written. */
  isAnswering(socket: Duplex): boolean {
    const connection = this.#connections.get(socket);
    return (
      connection !== undefined && some(connection.exchanges, ({ response }) => response.headersSent)
    );
  }

  /** Calls back when the complete requests of the connection are answered: answers keep order. */
  afterAnswers(socket: Duplex, callback: AfterAnswers): void {
    const connection = this.#connections.get(socket);
    if (!connection) return callback(false);
    connection.onAnswered ??= callback;
    callBackWhenAnswered(connection);
  }

  /** The connections for which nothing is being done. */
  *waiting(): Iterable<WaitingConnection> {
    for (const connection of this.#connections.values()) {
      this.#noteProgress(connection);
      const { socket, exchanges, headSince, readAt, writtenAt, unwritten } = connection;
      const [first] = exchanges;
      if (unwritten > 0) {
        if (isSilent(writtenAt, this.#clock)) yield { socket, kind: 'slow', since: writtenAt };
      } else if (!first) {
        const kind = connection.hasAnswered ? 'idle' : 'unused';
        yield { socket, kind, since: headSince ?? readAt };
      } else if (exchanges.size === 1 && !first.request.complete) {
        const { startedAt, before } = first;
        const body = { startedAt, readAt, bytes: socket.bytesRead - before };
        if (isSlowBody(body, this.#clock)) yield { socket, kind: 'slow', since: startedAt };
      }
    }
  }

  /** Ends connections that are overdue. */
  check(): void {
    this.#clock.check();
    for (const connection of this.#connections.values()) this.#checkOne(connection);
  }

  readonly #add = (socket: Socket): void => {
    const now = this.#clock.now();
    this.#connections.set(socket, {
      ...{
        socket,
        exchanges: new Set<Exchange>(),
        incomplete: undefined,
        read: socket.bytesRead,
        unwritten: 0,
        isOverdue: false,
        hasAnswered: false,
      },
      ...{ readAt: now, writtenAt: now, headSince: now, onAnswered: undefined },
    });
    socket.once('close', () => this.#connections.delete(socket));
    this.#timer.occupied();
  };

  readonly #begin = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = this.#connections.get(request.socket);
    if (!connection) return;
    const now = this.#clock.now();
    const before = request.socket.bytesRead;
    const exchange: Exchange = { request, response, startedAt: now, before };
    connection.readAt = now;
    connection.exchanges.add(exchange);
    if (connection.exchanges.size > MAX_IN_PROGRESS) request.socket.destroy();
    connection.incomplete = exchange;
    const remove = () => {
      if (!connection.exchanges.delete(exchange)) return;
      if (connection.incomplete?.request.complete === true) connection.incomplete = undefined;
      connection.headSince = undefined;
      connection.hasAnswered ||= response.writableFinished;
      connection.read = connection.socket.bytesRead;
      callBackWhenAnswered(connection);
    };
    // Before the listener of node:http, which may end the connection.
    response.prependOnceListener('finish', remove);
    response.once('close', remove);
  };

  #checkOne(connection: Connection): void {
    const { socket, exchanges, incomplete } = connection;
    const { limits } = this.#options;
    this.#noteProgress(connection);
    if (connection.unwritten > 0) {
      if (this.#clock.since(connection.writtenAt) > limits.write) socket.destroy();
    } else if (incomplete && exchanges.has(incomplete) && !incomplete.request.complete) {
      if (
        !connection.isOverdue &&
        (this.#clock.since(connection.readAt) > limits.bodyIdle ||
          this.#clock.since(incomplete.startedAt) > limits.body)
      )
        this.#endBody(connection, incomplete);
    } else if (exchanges.size === 0 && connection.headSince !== undefined) {
      if (this.#clock.since(connection.headSince) > limits.head) socket.destroySoon();
    }
  }

  #noteProgress(connection: Connection): void {
    const { socket, exchanges } = connection;
    const now = this.#clock.now();
    if (socket.bytesRead !== connection.read) {
      connection.read = socket.bytesRead;
      connection.readAt = now;
      if (exchanges.size === 0) connection.headSince ??= now;
    }
    if (socket.writableLength !== connection.unwritten) {
      connection.unwritten = socket.writableLength;
      connection.writtenAt = now;
    }
  }

  #endBody(connection: Connection, { request, response }: Exchange): void {
    const { answerOverdue } = this.#options;
    connection.isOverdue = true;
    if (!answerOverdue || response.headersSent) return void connection.socket.destroy();
    // node:http no longer ends a request that has its answer; who reads its body must learn it.
    connection.socket.once('close', () => request.destroy());
    this.afterAnswers(connection.socket, () => answerOverdue(request, response));
  }
}

function some(exchanges: Iterable<Exchange>, test: (exchange: Exchange) => boolean): boolean {
  for (const exchange of exchanges) if (test(exchange)) return true;
  return false;
}

function callBackWhenAnswered(connection: Connection): void {
  const { onAnswered: callback, exchanges, incomplete } = connection;
  const isOpen = ({ request, response }: Exchange) => request.complete || response.writableEnded;
  if (!callback || some(exchanges, isOpen)) return;
  connection.onAnswered = undefined;
  callback(incomplete?.request.complete === false && incomplete.response.writableEnded);
}
