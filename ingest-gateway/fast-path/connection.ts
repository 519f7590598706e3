import type { Socket } from 'node:net';
import type { Principal } from '../../ingest/account.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import { traceOf } from '../../platform/http/trace.ts';
import type { EventRoute } from '../http/routes.ts';
import { answerText } from './write-answer.ts';
import { parseHead, type Head } from './parse-head.ts';
import type { FastPath } from './lane.ts';

/** A head that is longer is parsed each time: connections keep the last one. */
const MOST_KEPT_HEAD = 2048;

/** A head with what it led to the last time. */
interface KnownHead {
  head: Head;
  route: EventRoute;
  key: string;
  bytes: Buffer;
}

/** A body that has not come whole. */
interface Reading {
  known: KnownHead;
  principal: Principal;
  chunks: Buffer[];
  missing: number;
}

const TIMED_OUT = renderFailure({ code: 'request_timed_out' });

/**
 * A connection of common requests (see parse-head.ts): one request after the other, each answered
 * before the next is read. At the first request that is not common the connection goes to node:http
 * with every byte from that request on, and stays there.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #lane: FastPath;
  #known: KnownHead | undefined;
  #reading: Reading | undefined;
  /** What came behind the request under way; the socket is paused meanwhile. */
  #pending: Buffer | undefined;
  #isBusy = false;
  /** The client sends no more. */
  #isEnded = false;
  #hasAnswered = false;
  /**
   * Since when the connection waits for the client, milliseconds since the epoch; undefined while
   * it is ours to move.
   */
  #waitingSince: number | undefined;

  constructor(socket: Socket, lane: FastPath) {
    this.#socket = socket;
    this.#lane = lane;
    this.#waitingSince = lane.options.now();
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('close', this.#onClose);
    socket.on('error', this.#onError);
  }

  /** Ends a connection on which nothing is under way. */
  endIdle(): void {
    if (!this.#isBusy && !this.#reading) this.#socket.destroySoon();
  }

  /** Ends what has waited too long for the client. */
  endOverdue(now: number): void {
    const { limits } = this.#lane.options;
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
          keepAlive: this.#lane.keepAlive,
        }),
      );
      this.#leave();
      setTimeout(() => this.#socket.destroy(), limits.lastWords).unref();
    } else if (waited > limits.idle) this.#socket.destroySoon();
  }

  readonly #onError = (): void => undefined;

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    if (!this.#isBusy) this.#socket.end();
  };

  readonly #onClose = (): void => this.#leave();

  /** Nothing more is expected of this connection here. */
  #leave(): void {
    if (this.#reading) this.#lane.options.budget.release(bytesOf(this.#reading));
    this.#reading = undefined;
    this.#pending = undefined;
    this.#waitingSince = undefined;
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('close', this.#onClose);
    this.#lane.leave(this);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isBusy) {
      this.#pending = this.#pending ? Buffer.concat([this.#pending, chunk]) : chunk;
      this.#socket.pause();
    } else if (this.#reading) this.#readOn(this.#reading, chunk);
    else this.#begin(chunk);
  };

  /** A request begins with these bytes. */
  #begin(chunk: Buffer): void {
    const known = this.#knownHead(chunk);
    const principal = known && this.#lane.verify(known.key);
    if (!known || !principal) this.#handOver(chunk);
    else if (principal instanceof Promise) this.#awaitKey(known, principal, chunk);
    else this.#take(known, principal, chunk);
  }

  /**
   * The key is being looked up, which happens again each time that what is remembered of it has
   * become too old.
   */
  #awaitKey(known: KnownHead, principal: Promise<Principal | undefined>, chunk: Buffer): void {
    this.#isBusy = true;
    this.#waitingSince = undefined;
    this.#socket.pause();
    void principal.then((found) => {
      this.#isBusy = false;
      if (this.#socket.destroyed) return;
      const bytes = this.#pending ? Buffer.concat([chunk, this.#pending]) : chunk;
      this.#pending = undefined;
      if (!found) return this.#handOver(bytes);
      this.#take(known, found, bytes);
      this.#resume();
    });
  }

  #take(known: KnownHead, principal: Principal, chunk: Buffer): void {
    const { head } = known;
    const end = head.bytes + head.contentLength;
    if (!this.#lane.options.budget.acquire(Math.min(chunk.length, end) - head.bytes))
      return this.#handOver(chunk);
    if (chunk.length < end) {
      this.#reading = {
        known,
        principal,
        chunks: [chunk.subarray(head.bytes)],
        missing: end - chunk.length,
      };
      this.#waitingSince = this.#lane.options.now();
      return;
    }
    if (chunk.length > end) {
      this.#pending = chunk.subarray(end);
      this.#socket.pause();
    }
    this.#serve(known, principal, chunk.subarray(head.bytes, end));
  }

  #readOn(reading: Reading, chunk: Buffer): void {
    const own = chunk.length > reading.missing ? chunk.subarray(0, reading.missing) : chunk;
    if (!this.#lane.options.budget.acquire(own.length))
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

  /** The head at the beginning of these bytes; clients send the same one again and again. */
  #knownHead(chunk: Buffer): KnownHead | undefined {
    const last = this.#known;
    if (
      last &&
      chunk.length >= last.bytes.length &&
      last.bytes.compare(chunk, 0, last.bytes.length) === 0
    )
      return last;
    const head = parseHead(chunk);
    const route = head && this.#lane.options.routes.get(head.path);
    if (!route || head.contentLength > this.#lane.options.maxBodyBytes) return undefined;
    const key = this.#lane.keyOf(head);
    if (key === undefined) return undefined;
    // A copy: the chunk is a part of a larger piece of memory, which this would keep alive.
    const known = { head, route, key, bytes: Buffer.from(chunk.subarray(0, head.bytes)) };
    this.#known = head.bytes <= MOST_KEPT_HEAD ? known : undefined;
    return known;
  }

  #serve({ head, route }: KnownHead, principal: Principal, body: Buffer): void {
    this.#isBusy = true;
    this.#waitingSince = undefined;
    const trace = traceOf(head.trace);
    void this.#lane.options
      .submit({ route, principal, head, body, trace, remote: this.#socket.remoteAddress })
      .then((answer) => {
        this.#lane.options.budget.release(head.contentLength);
        this.#answer(answer, trace);
      });
  }

  #answer(answer: Answer, trace: string): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const now = this.#lane.options.now();
    const isLast = this.#lane.isClosing || this.#isEnded;
    const bytes = Buffer.byteLength(answer.body);
    const text = answerText(answer, { bytes, trace, isLast, now, keepAlive: this.#lane.keepAlive });
    this.#hasAnswered = true;
    this.#waitingSince = now;
    // ASCII needs no encoding; Persian sentences do.
    const encoding = bytes === answer.body.length ? 'latin1' : 'utf8';
    if (isLast) return void socket.end(text, encoding);
    if (socket.write(text, encoding)) this.#next();
    else socket.once('drain', () => this.#next());
  }

  /** The answer is out: what came meanwhile is read. */
  #next(): void {
    this.#isBusy = false;
    const pending = this.#pending;
    if (pending) {
      this.#pending = undefined;
      this.#begin(pending);
    } else if (this.#isEnded) this.#socket.end();
    this.#resume();
  }

  /**
   * Stays paused while a request is under way and more lies behind it, or its key is looked up:
   * #onData keeps the bound.
   */
  #resume(): void {
    if (this.#pending === undefined && this.#socket.isPaused()) this.#socket.resume();
  }

  #handOver(bytes: Buffer): void {
    this.#leave();
    const socket = this.#socket;
    socket.off('error', this.#onError);
    socket.pause();
    socket.unshift(bytes);
    this.#lane.handOver(socket);
    socket.resume();
  }
}

/** Bytes of the body that have come. */
function bytesOf({ known, missing }: Reading): number {
  return known.head.contentLength - missing;
}
