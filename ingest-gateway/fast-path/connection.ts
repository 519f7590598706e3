import type { Socket } from 'node:net';
import { traceOf } from '../../platform/http/trace.ts';
import type { Principal } from '../../ingest/account.ts';
import { presentedKey, type Verification, type WriteKeys } from '../auth/write-keys.ts';
import type { BodyBudget } from '../http/body.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import type { EventRoute } from '../http/routes.ts';
import type { EventServer } from '../http/serve-events.ts';
import { parseHead, type Head } from './parse-head.ts';
import { answerText, type KeepAlive } from './write-answer.ts';

/** How long a client may take, ms. */
export interface Limits {
  /** To send a request. */
  read: number;
  /** To read an answer. */
  write: number;
  /** Between two requests. */
  idle: number;
  /** To read the answer to a request that came too slowly. */
  lingeringCloseMs: number;
}

/** What all connections share. */
export interface ConnectionOptions {
  routes: ReadonlyMap<string, EventRoute>;
  keys: Pick<WriteKeys, 'verify'>;
  events: Pick<EventServer, 'submit'>;
  budget: BodyBudget;
  maxBodyBytes: number;
  limits: Limits;
  now: () => number;
  keepAlive: KeepAlive;
  /** Gives a connection to node:http. */
  handOver: (socket: Socket) => void;
  /** Removes a connection that is closed or handed over. */
  leave: (connection: Connection) => void;
  /** True while the process is stopping: each answer is the last on its connection. */
  isLast: () => boolean;
}

/** A connection keeps its last head, unless it is longer: then it is parsed each time. */
const MAX_KEPT_HEAD_BYTES = 2048;

/** A head with the route and the key that it names. */
interface KnownHead {
  head: Head;
  route: EventRoute;
  key: string;
  bytes: Buffer;
}

/** A body that is not complete yet. */
interface Reading {
  known: KnownHead;
  principal: Principal;
  chunks: Buffer[];
  missing: number;
}

const TIMED_OUT = renderFailure({ code: 'request_timed_out' });

/**
 * A connection of common requests (see parse-head.ts): reads a request, verifies its key, submits
 * it and answers before it reads the next one. At the first request that is not common the
 * connection goes to node:http with every byte from that request on, until it closes.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  #known: KnownHead | undefined;
  #reading: Reading | undefined;
  /** Bytes after the request in progress; the socket is paused meanwhile. */
  #pending: Buffer | undefined;
  #isBusy = false;
  /** The client has ended its side. */
  #isEnded = false;
  #hasAnswered = false;
  /** When it began to wait for the client, ms since the epoch; undefined while it does not. */
  #waitingSince: number | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#waitingSince = options.now();
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('close', this.#onClose);
    socket.on('error', this.#onError);
  }

  /** Ends the connection if no request is in progress. */
  endIdle(): void {
    if (!this.#isBusy && !this.#reading) this.#socket.destroySoon();
  }

  /** Ends the connection if it has waited too long for the client. */
  endOverdue(now: number): void {
    const { limits, keepAlive } = this.#options;
    if (this.#waitingSince === undefined) return;
    const waited = now - this.#waitingSince;
    if (this.#isBusy) {
      if (waited > limits.write) this.#socket.destroy();
    } else if (this.#reading || !this.#hasAnswered) {
      if (waited <= limits.read) return;
      const bytes = Buffer.byteLength(TIMED_OUT.body);
      this.#socket.end(
        answerText(TIMED_OUT, {
          bytes,
          trace: traceOf(undefined),
          isLast: true,
          now,
          keepAlive,
        }),
      );
      this.#leave();
      setTimeout(() => this.#socket.destroy(), limits.lingeringCloseMs).unref();
    } else if (waited > limits.idle) this.#socket.destroySoon();
  }

  readonly #onError = (): void => undefined;

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    if (!this.#isBusy) this.#socket.end();
  };

  readonly #onClose = (): void => this.#leave();

  /** Stops listening and releases what the connection holds. */
  #leave(): void {
    if (this.#reading) this.#options.budget.release(bytesOf(this.#reading));
    this.#reading = undefined;
    this.#pending = undefined;
    this.#waitingSince = undefined;
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('close', this.#onClose);
    this.#options.leave(this);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isBusy) {
      this.#pending = this.#pending ? Buffer.concat([this.#pending, chunk]) : chunk;
      this.#socket.pause();
    } else if (this.#reading) this.#continueBody(this.#reading, chunk);
    else this.#begin(chunk);
  };

  /** @param chunk begins with a request */
  #begin(chunk: Buffer): void {
    const known = this.#knownHead(chunk);
    if (!known) return this.#handOver(chunk);
    const verified = this.#options.keys.verify(known.key);
    if (verified instanceof Promise) this.#awaitKey(known, verified, chunk);
    // node:http answers a key that is invalid or cannot be verified.
    else if (typeof verified === 'string') this.#handOver(chunk);
    else this.#readBody(known, verified, chunk);
  }

  /** The key is not cached, or its cache entry has expired. */
  #awaitKey(known: KnownHead, verification: Promise<Verification>, chunk: Buffer): void {
    this.#isBusy = true;
    this.#waitingSince = undefined;
    this.#socket.pause();
    void verification.then((verified) => {
      this.#isBusy = false;
      if (this.#socket.destroyed) return;
      const bytes = this.#pending ? Buffer.concat([chunk, this.#pending]) : chunk;
      this.#pending = undefined;
      if (typeof verified === 'string') return this.#handOver(bytes);
      this.#readBody(known, verified, bytes);
      this.#resume();
    });
  }

  #readBody(known: KnownHead, principal: Principal, chunk: Buffer): void {
    const { head } = known;
    const end = head.bytes + head.contentLength;
    if (!this.#options.budget.acquire(Math.min(chunk.length, end) - head.bytes))
      return this.#handOver(chunk);
    if (chunk.length < end) {
      this.#reading = {
        known,
        principal,
        chunks: [chunk.subarray(head.bytes)],
        missing: end - chunk.length,
      };
      this.#waitingSince = this.#options.now();
      return;
    }
    if (chunk.length > end) {
      this.#pending = chunk.subarray(end);
      this.#socket.pause();
    }
    this.#serve(known, principal, chunk.subarray(head.bytes, end));
  }

  #continueBody(reading: Reading, chunk: Buffer): void {
    const own = chunk.length > reading.missing ? chunk.subarray(0, reading.missing) : chunk;
    if (!this.#options.budget.acquire(own.length))
      return this.#handOver(Buffer.concat([reading.known.bytes, ...reading.chunks, chunk]));
    reading.chunks.push(own);
    reading.missing -= own.length;
    if (reading.missing > 0) return;
    if (own.length < chunk.length) {
      this.#pending = chunk.subarray(own.length);
      this.#socket.pause();
    }
    this.#reading = undefined;
    this.#serve(reading.known, reading.principal, Buffer.concat(reading.chunks));
  }

  /** The head at the start of the chunk; clients repeat the same one. */
  #knownHead(chunk: Buffer): KnownHead | undefined {
    const last = this.#known;
    if (
      last &&
      chunk.length >= last.bytes.length &&
      last.bytes.compare(chunk, 0, last.bytes.length) === 0
    )
      return last;
    const head = parseHead(chunk);
    const route = head && this.#options.routes.get(head.path);
    if (!route || head.contentLength > this.#options.maxBodyBytes) return undefined;
    const key = presentedKey(
      { authorization: head.authorization, 'x-service-key': head.serviceKey },
      head.query,
    );
    if (key === undefined) return undefined;
    // A copy: a slice would retain the memory of the whole chunk.
    const known = { head, route, key, bytes: Buffer.from(chunk.subarray(0, head.bytes)) };
    this.#known = head.bytes <= MAX_KEPT_HEAD_BYTES ? known : undefined;
    return known;
  }

  #serve({ head, route }: KnownHead, principal: Principal, body: Buffer): void {
    this.#isBusy = true;
    this.#waitingSince = undefined;
    const trace = traceOf(head.trace);
    void this.#options.events
      .submit({ route, principal, head, body, trace, remote: this.#socket.remoteAddress })
      .then((answer) => {
        this.#options.budget.release(head.contentLength);
        this.#answer(answer, trace);
      });
  }

  #answer(answer: Answer, trace: string): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const now = this.#options.now();
    const isLast = this.#isEnded || this.#options.isLast();
    const bytes = Buffer.byteLength(answer.body);
    const { keepAlive } = this.#options;
    const text = answerText(answer, { bytes, trace, isLast, now, keepAlive });
    this.#hasAnswered = true;
    this.#waitingSince = now;
    // ASCII needs no encoding; Persian sentences do.
    const encoding = bytes === answer.body.length ? 'latin1' : 'utf8';
    if (isLast) return void socket.end(text, encoding);
    if (socket.write(text, encoding)) this.#next();
    else socket.once('drain', () => this.#next());
  }

  /** The answer is written: reads the next request. */
  #next(): void {
    this.#isBusy = false;
    const pending = this.#pending;
    if (pending) {
      this.#pending = undefined;
      this.#begin(pending);
    } else if (this.#isEnded) this.#socket.end();
    this.#resume();
  }

  /** Keeps the socket paused while bytes of the next request are pending: #onData bounds them. */
  #resume(): void {
    if (this.#pending === undefined && this.#socket.isPaused()) this.#socket.resume();
  }

  #handOver(bytes: Buffer): void {
    this.#leave();
    const socket = this.#socket;
    socket.off('error', this.#onError);
    socket.pause();
    socket.unshift(bytes);
    this.#options.handOver(socket);
    socket.resume();
  }
}

/** Bytes of the body that have arrived. */
function bytesOf({ known, missing }: Reading): number {
  return known.head.contentLength - missing;
}
