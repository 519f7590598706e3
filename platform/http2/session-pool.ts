import type { Socket } from 'node:net';
import { onAbort } from '../on-abort.ts';
import { Exchange, type Http2Request, type Http2Result } from './exchange.ts';
import { Http2Session, type SessionLimits } from './session.ts';

export interface PoolLimits extends SessionLimits {
  /** Connections at a time. */
  maxSessions: number;
  /** Requests that wait for a connection or for room on one. */
  maxWaiting: number;
  /** After a connection failed, no other one is tried for this time, ms. */
  reconnectMs: number;
  /** How often limits of time are checked, ms. */
  sweepMs: number;
}

interface PoolOptions {
  authority: string;
  /** Opens a connection to a server that speaks HTTP/2. Rejects when there is none. */
  connect: (signal: AbortSignal) => Promise<Socket>;
  limits: PoolLimits;
  /** ms, monotonic */
  now: () => number;
}

/** How often a request is given to another connection after a server refused to process it. */
const MAX_REFUSALS = 3;

/**
 * Connections to one origin, opened when requests need them. A request that a server certainly did
 * not process (REFUSED_STREAM, GOAWAY) is sent again; nothing else is.
 */
export class SessionPool {
  readonly #options: PoolOptions;
  readonly #waiting = new Set<Exchange>();
  readonly #sessions = new Set<Http2Session>();
  readonly #closed = new AbortController();
  #isConnecting = false;
  #failure: { at: number; message: string; error: unknown } | undefined;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Nothing waits and no connection is open. */
  get #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#sessions.size === 0 && !this.#isConnecting;
  }

  /** No request waits or is on its way. */
  get isUnused(): boolean {
    return this.#waiting.size === 0 && [...this.#sessions].every(({ isUnused }) => isUnused);
  }

  /** Never rejects. `timeoutMs`: from now to the end of the answer. */
  request(
    request: Http2Request,
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<Http2Result> {
    const { promise, resolve } = Promise.withResolvers<Http2Result>();
    const deadline = this.#options.now() + timeoutMs;
    const exchange = new Exchange(request, { deadline, resolve });
    if (this.#closed.signal.aborted) exchange.notSent('the sender is closed');
    else if (signal?.aborted) exchange.notSent('aborted before it was sent');
    else if (this.#waiting.size >= this.#options.limits.maxWaiting)
      exchange.notSent('too many requests wait for the server');
    else this.#accept(exchange, signal);
    return promise;
  }

  /** Requests on connections may end within their time; all others are not sent. */
  close(): void {
    this.#closed.abort(new Error('the sender is closed'));
    this.#failWaiting('the sender is closed');
    for (const session of this.#sessions) session.drain('the sender is closed');
  }

  #accept(exchange: Exchange, signal: AbortSignal | undefined): void {
    if (signal) exchange.release = onAbort(signal, () => this.#cancel(exchange, 'aborted'));
    this.#waiting.add(exchange);
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#options.limits.sweepMs).unref();
    this.#pump();
  }

  #cancel(exchange: Exchange, message: string): void {
    if (this.#waiting.delete(exchange)) exchange.notSent(message);
    else for (const session of this.#sessions) session.cancel(exchange, message);
  }

  /** Starts what waits, as far as there is room; opens a connection when there is none. */
  #pump(): void {
    for (const exchange of this.#waiting) {
      const session = this.#sessionWithRoom();
      if (!session) return this.#connectMore();
      this.#waiting.delete(exchange);
      session.start(exchange);
    }
  }

  #sessionWithRoom(): Http2Session | undefined {
    let best: Http2Session | undefined;
    let room = 0;
    for (const session of this.#sessions) {
      if (session.room <= room) continue;
      // A connection that was lost in silence would lose the request.
      if (session.isQuiet) session.ping();
      else [best, room] = [session, session.room];
    }
    return best;
  }

  #connectMore(): void {
    const { limits, now } = this.#options;
    const open = [...this.#sessions].filter(({ isDraining }) => !isDraining);
    if (this.#isConnecting || open.length >= limits.maxSessions) return;
    // It is asked whether they are still there.
    if (open.some(({ isReady, isQuiet }) => !isReady || isQuiet)) return;
    if (this.#failure && now() - this.#failure.at < limits.reconnectMs) {
      const { message, error } = this.#failure;
      if (open.length === 0) this.#failWaiting(message, error);
      return;
    }
    void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#isConnecting = true;
    const { authority, connect, limits, now } = this.#options;
    const timeout = AbortSignal.timeout(limits.connectMs);
    try {
      const socket = await connect(AbortSignal.any([timeout, this.#closed.signal]));
      const session: Http2Session = new Http2Session({
        ...{ socket, authority, limits, now },
        onRoom: () => this.#pump(),
        onRefused: (exchange, message) => this.#retry(exchange, message),
        onEnd: (message) => this.#ended(session, message),
      });
      this.#sessions.add(session);
      this.#failure = undefined;
      if (this.#closed.signal.aborted) session.drain('the sender is closed');
    } catch (error) {
      this.#connectFailed(error);
    }
    this.#isConnecting = false;
  }

  #connectFailed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#failure = { at: this.#options.now(), message, error };
    if (this.#sessions.size === 0) this.#failWaiting(message, error);
  }

  #ended(session: Http2Session, message: string): void {
    this.#sessions.delete(session);
    // Otherwise a server that closes every connection would be called without end.
    if (!session.hasStarted) this.#connectFailed(new Error(message));
    this.#pump();
  }

  /** Gives a request to another connection, or gives up. */
  #retry(exchange: Exchange, message: string): void {
    exchange.reset();
    if (++exchange.refusals >= MAX_REFUSALS || this.#closed.signal.aborted)
      return exchange.notSent(message);
    this.#waiting.add(exchange);
    this.#pump();
  }

  #failWaiting(message: string, error?: unknown): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const exchange of waiting) exchange.notSent(message, error);
  }

  #sweep(): void {
    const now = this.#options.now();
    for (const exchange of this.#waiting)
      if (exchange.deadline <= now) this.#cancel(exchange, 'the server had no room in time');
    for (const session of this.#sessions) session.sweep(now);
    this.#pump();
    if (!this.#isIdle) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }
}
