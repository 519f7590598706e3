import type { Socket } from 'node:net';
import { LINGERING_CLOSE_MS } from '../../platform/http/broken-request.ts';
import type { ClientClock } from '../../platform/http/client-clock.ts';
import { FREE_BYTES } from '../../platform/http/read-body.ts';
import type { ClientLimits } from '../../platform/http/http-connections.ts';
import { traceOf } from '../../platform/http/trace.ts';
import { isSilent, type WaitingConnection } from '../../platform/http/waiting-connection.ts';
import type { Principal } from '../../ingest/account.ts';
import type { Verification, WriteKeys } from '../auth/write-keys.ts';
import type { BodyBudget } from '../http/body.ts';
import { MAX_DISCARDED_BYTES } from '../http/discard.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import type { EventRoute } from '../http/routes.ts';
import type { Answered, EventServer } from '../http/serve-events.ts';
import { IncompleteBody } from '../../platform/http/incomplete-body.ts';
import { IncomingBody, type BodyUse } from './incoming-body.ts';
import { KnownHeads, type KnownHead } from './known-heads.ts';
import { answerText, type KeepAlive } from './write-answer.ts';

/** How long a client may keep the connection waiting, ms; `idle` is between two requests. */
export type Limits = ClientLimits & { idle: number };

/** What all connections share. */
export interface ConnectionOptions {
  routes: ReadonlyMap<string, EventRoute>;
  keys: Pick<WriteKeys, 'verify'>;
  events: Pick<EventServer, 'submit'>;
  budget: BodyBudget;
  maxBodyBytes: number;
  limits: Limits;
  clock: ClientClock;
  /** For the Date header, ms since the epoch. */
  now: () => number;
  keepAlive: KeepAlive;
  onAnswered: Answered;
  /** Gives a connection to node:http. */
  handOver: (socket: Socket) => void;
  /** Removes a connection that is closed or handed over. */
  leave: (connection: Connection) => void;
  /** True while the process is stopping: each answer is the last on its connection. */
  isLast: () => boolean;
}

const MISSING = renderFailure({ code: 'missing_write_key' });
const INVALID = renderFailure({ code: 'invalid_write_key' });
const UNVERIFIED = renderFailure({ code: 'key_unverified' });
const TOO_LARGE = renderFailure({ code: 'body_too_large' });
const UNAVAILABLE = renderFailure({ code: 'unavailable' });

/**
 * A connection of common requests (see parse-head.ts): reads a request, verifies its key, submits
 * it and answers before it reads the next one. Answers are those of node:http, byte for byte
 * (testing/). At the first request that is not common the connection goes to node:http with every
 * byte from that request on, until it closes; no other reason hands a connection over.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #heads: KnownHeads;
  #incoming: IncomingBody | undefined;
  /**
   * A request is in progress. What arrives behind it goes back into the paused socket: the end of
   * the connection is then reported after it, and node:http can still get it.
   */
  #isBusy = false;
  /** The client has ended its side, and all that it sent was read. */
  #isEnded = false;
  #hasAnswered = false;
  /** When the last byte of the request in progress was there. */
  #arrivedAt = 0;
  /** When it began to wait for the client; undefined while it does not. */
  #waitingSince: number | undefined;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#heads = new KnownHeads(options.routes);
    this.#waitingSince = options.clock.now();
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('close', this.#onClose);
    socket.on('error', this.#onError);
  }

  /** Ends the connection if no request is in progress. */
  endIdle(): void {
    if (!this.#isBusy && !this.#incoming) this.#socket.destroySoon();
  }

  /** Ends the connection if it has waited too long for the client; a body with a 503, never 408. */
  endOverdue(): void {
    const { limits, clock } = this.#options;
    const incoming = this.#incoming;
    if (incoming) {
      if (incoming.isOverdue(limits)) this.#endWith(incoming.known, UNAVAILABLE);
    } else if (this.#waitingSince !== undefined) {
      const waited = clock.since(this.#waitingSince);
      if (this.#isBusy) {
        if (waited > limits.write) this.#socket.destroy();
      } else if (waited > (this.#hasAnswered ? limits.idle : limits.head))
        this.#socket.destroySoon();
    }
  }

  /** Undefined while something is being done for the client. */
  get waiting(): WaitingConnection | undefined {
    const { clock } = this.#options;
    const socket = this.#socket;
    if (this.#incoming) return this.#incoming.waiting(socket);
    const since = this.#waitingSince;
    if (since === undefined) return undefined;
    if (this.#isBusy) return isSilent(since, clock) ? { socket, kind: 'slow', since } : undefined;
    return { socket, kind: this.#hasAnswered ? 'idle' : 'unused', since };
  }

  readonly #onError = (): void => undefined;

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    // A request that was cut off has no answer, as in answerBrokenRequest.
    if (!this.#isBusy) this.#socket.end();
  };

  readonly #onClose = (): void => this.#leave();

  /** Stops listening and releases what the connection holds. */
  #leave(): void {
    this.#incoming?.release();
    this.#incoming = undefined;
    this.#waitingSince = undefined;
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('close', this.#onClose);
    this.#options.leave(this);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isBusy) this.#putBack(chunk);
    else if (this.#incoming) this.#continue(this.#incoming, chunk);
    else this.#begin(chunk);
  };

  /** Bytes of the next request. */
  #putBack(bytes: Buffer): void {
    this.#socket.pause();
    this.#socket.unshift(bytes);
  }

  /** @param chunk begins with a request */
  #begin(chunk: Buffer): void {
    const known = this.#heads.at(chunk);
    if (!known) return this.#handOver(chunk);
    this.#arrivedAt = this.#options.clock.now();
    const end = known.head.bytes + known.head.contentLength;
    const body = chunk.subarray(known.head.bytes, end);
    if (chunk.length > end) this.#putBack(chunk.subarray(end));
    if (known.key === undefined) return this.#refuse(known, MISSING, body.length);
    const verified = this.#options.keys.verify(known.key, known.digest);
    if (verified instanceof Promise) this.#awaitKey(known, verified, body);
    else this.#admit(known, verified, body);
  }

  /** The key is not cached, or its cache entry has expired. */
  #awaitKey(known: KnownHead, verification: Promise<Verification>, body: Buffer): void {
    this.#isBusy = true;
    this.#waitingSince = undefined;
    this.#socket.pause();
    void verification.then((verified) => {
      this.#isBusy = false;
      if (this.#socket.destroyed) return;
      this.#admit(known, verified, body);
      if (this.#incoming) this.#socket.resume();
    });
  }

  /** @param body what has arrived of it */
  #admit(known: KnownHead, verified: Verification, body: Buffer): void {
    const { contentLength } = known.head;
    if (verified === 'invalid') return this.#refuse(known, INVALID, body.length);
    if (verified === 'unverified') return this.#refuse(known, UNVERIFIED, body.length);
    if (contentLength > this.#options.maxBodyBytes)
      return this.#refuse(known, TOO_LARGE, body.length);
    const { budget } = this.#options;
    if (body.length === contentLength) {
      if (!budget.acquire(verified.accountId, body.length))
        return this.#refuse(known, UNAVAILABLE, body.length);
      return this.#serve(known, verified, body);
    }
    const incomplete = new IncompleteBody(contentLength, budget.of(verified.accountId));
    if (!incomplete.add(body)) return this.#refuse(known, UNAVAILABLE, body.length);
    const use = { kept: { principal: verified, body: incomplete } };
    this.#expect(known, contentLength - body.length, use);
  }

  /** Answers once the rest of the body is read: a client that still sends would see a reset. */
  #refuse(known: KnownHead, refusal: Answer, arrived: number): void {
    const missing = known.head.contentLength - arrived;
    if (missing > 0) return this.#expect(known, missing, { refusal });
    this.#isBusy = true;
    this.#answer(known, refusal, traceOf(known.head.trace, known.head.traceparent));
  }

  #expect(known: KnownHead, missing: number, use: BodyUse): void {
    this.#incoming = new IncomingBody({ known, missing, use, clock: this.#options.clock });
    this.#waitingSince = undefined;
    if (this.#isEnded) this.#socket.end();
  }

  #continue(incoming: IncomingBody, chunk: Buffer): void {
    const own = chunk.length > incoming.missing ? chunk.subarray(0, incoming.missing) : chunk;
    if (own.length < chunk.length) this.#putBack(chunk.subarray(own.length));
    incoming.add(own);
    const { known, use, arrived } = incoming;
    if (incoming.missing === 0) {
      this.#incoming = undefined;
      this.#arrivedAt = incoming.readAt;
      if (use.kept) this.#serve(known, use.kept.principal, use.kept.body.bytes());
      else this.#refuse(known, use.refusal, arrived);
      return;
    }
    if (use.refusal && arrived > MAX_DISCARDED_BYTES) return this.#endWith(known, use.refusal);
    if (arrived > FREE_BYTES) this.#awaitTurn(incoming);
  }

  /** Stops reading until a large body may go on. */
  #awaitTurn(incoming: IncomingBody): void {
    const owner = incoming.use.kept?.principal.accountId ?? this.#socket.remoteAddress ?? '';
    this.#socket.pause();
    this.#options.budget.turns.take(owner, () => {
      if (this.#incoming !== incoming) return;
      incoming.touch();
      this.#socket.resume();
    });
  }

  /** @param body its bytes are acquired */
  #serve(known: KnownHead, principal: Principal, body: Buffer): void {
    const { head, route } = known;
    this.#isBusy = true;
    this.#waitingSince = undefined;
    const trace = traceOf(head.trace, head.traceparent);
    // What waits for the answer does not refer to the body.
    const { accountId } = principal;
    const bytes = body.length;
    void this.#options.events
      .submit({ route, principal, head, body, trace, remote: this.#socket.remoteAddress })
      .then((answer) => {
        this.#options.budget.release(accountId, bytes);
        this.#answer(known, answer, trace);
      });
  }

  #answer({ route }: KnownHead, answer: Answer, trace: string): void {
    const socket = this.#socket;
    const { clock, onAnswered } = this.#options;
    const now = clock.now();
    onAnswered(route.path, answer.status, now - this.#arrivedAt);
    if (socket.destroyed) return;
    const isLast = this.#options.isLast();
    const { text, encoding } = this.#textOf(answer, { trace, isLast });
    this.#hasAnswered = true;
    this.#waitingSince = now;
    if (isLast || this.#isEnded) return void socket.end(text, encoding);
    if (socket.write(text, encoding)) this.#next();
    else socket.once('drain', () => this.#next());
  }

  /** Answers a request whose body is not read to its end; the connection closes behind it. */
  #endWith({ head, route }: KnownHead, answer: Answer): void {
    const trace = traceOf(head.trace, head.traceparent);
    const { text, encoding } = this.#textOf(answer, { trace, isLast: true });
    this.#socket.end(text, encoding);
    this.#options.onAnswered(route.path, answer.status, 0);
    this.#leave();
    setTimeout(() => this.#socket.destroy(), LINGERING_CLOSE_MS).unref();
  }

  #textOf(
    answer: Answer,
    { trace, isLast }: { trace: string; isLast: boolean },
  ): { text: string; encoding: 'latin1' | 'utf8' } {
    const bytes = Buffer.byteLength(answer.body);
    const { keepAlive, now } = this.#options;
    return {
      text: answerText(answer, { bytes, trace, isLast, now: now(), keepAlive }),
      // ASCII needs no encoding; Persian sentences do.
      encoding: bytes === answer.body.length ? 'latin1' : 'utf8',
    };
  }

  /** The answer is written: reads the next request. */
  #next(): void {
    this.#isBusy = false;
    if (this.#isEnded) this.#socket.end();
    else if (this.#socket.isPaused()) this.#socket.resume();
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
