import { performance } from 'node:perf_hooks';
import { BoundedMap } from '../bounded-map.ts';
import type { Http2Result } from '../http2/exchange.ts';
import type { Header } from '../http2/header-decoder.ts';
import type { SharedHeaders } from '../http2/header-encoder.ts';
import { SessionPool, type PoolLimits } from '../http2/session-pool.ts';
import { ApiClient, messageOf, type ApiResult } from './api-client.ts';
import { connectHttp2, SpeaksHttp1 } from './connect-http2.ts';
import { AddressRefused, guardedUrl, type OutboundGuard } from './guard.ts';

/** Names in lower case, values in Latin-1 and without control characters. */
export interface PostRequest {
  /** Appended to the path of the destination. */
  path?: string;
  /** What many requests have in common, for example a token: the same list each time. */
  shared: SharedHeaders;
  headers: readonly Header[];
  body: Buffer;
  /** From now to the end of the answer, ms. */
  timeout: number;
  signal?: AbortSignal;
}

/** A URL that passed the guard, without what names tell only when they are resolved. */
export interface PostDestination {
  readonly url: URL;
}

const LIMITS: PoolLimits = {
  maxSessions: 8,
  maxWaiting: 10_000,
  connectMs: 10_000,
  reconnectMs: 500,
  quietMs: 10_000,
  pingMs: 5000,
  idleMs: 120_000,
  sweepMs: 100,
};
/** To which there are connections at a time. */
const MAX_ORIGINS = 64;
/** How long an origin is believed to speak no HTTP/2, ms. */
const HTTP1_MS = 600_000;

/**
 * POST requests to services that take many small ones: over HTTP/2 to https URLs, over HTTP/1.1 to
 * http URLs and to servers that speak no HTTP/2. With the address guard and limits like ApiClient;
 * follows no redirects, and repeats only what a server certainly did not process.
 */
export class PostClient {
  readonly #guard: OutboundGuard;
  readonly #limits: PoolLimits;
  readonly #http1: ApiClient;
  /** By origin; the last one used is the last. */
  readonly #pools = new Map<string, SessionPool>();
  /** Until when origins are believed to speak no HTTP/2, by the monotonic clock. */
  readonly #http1Until = new BoundedMap<string, number>(2 * MAX_ORIGINS);

  readonly #urls = new BoundedMap<string, URL>(MAX_ORIGINS);

  constructor(guard: OutboundGuard, limits: Partial<PoolLimits> = {}) {
    this.#guard = guard;
    this.#limits = { ...LIMITS, ...limits };
    this.#http1 = new ApiClient(guard);
  }

  /** Throws AddressRefused. */
  destination(url: string): PostDestination {
    return { url: guardedUrl(url, this.#guard) };
  }

  /**
   * Never rejects. `to`: a text for a URL that is used often. An answer whose body is cut short is
   * `answered` with what arrived of it. Messages name neither paths nor addresses.
   */
  async post(to: PostDestination | string, request: PostRequest): Promise<ApiResult> {
    let url: URL;
    try {
      url = typeof to === 'string' ? this.#urlOf(to) : to.url;
    } catch (error) {
      return notSent({ kind: 'not_sent', message: '', error });
    }
    if (url.protocol === 'http:' || this.#speaksHttp1(url.origin))
      return this.#postHttp1(url, request);
    const startedAt = performance.now();
    const pool = this.#poolOf(url);
    if (!pool)
      return { kind: 'not_sent', isRefused: false, message: 'connections to too many hosts' };
    const { path = '', shared, headers, body, timeout: timeoutMs, signal } = request;
    const result = await pool.request(
      { path: pathOf(url, path), shared, headers, body },
      { timeoutMs, signal },
    );
    if (result.kind !== 'not_sent') return result;
    if (!(result.error instanceof SpeaksHttp1)) return notSent(result);
    this.#http1Until.set(url.origin, performance.now() + HTTP1_MS);
    const timeout = Math.max(1, timeoutMs - (performance.now() - startedAt));
    return this.#postHttp1(url, { ...request, timeout });
  }

  /** Requests that were sent may end within their time. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close();
    this.#http1.close();
  }

  /** Throws AddressRefused. Reading a URL costs more than a request. */
  #urlOf(text: string): URL {
    const known = this.#urls.get(text);
    if (known) return known;
    const { url } = this.destination(text);
    this.#urls.set(text, url);
    return url;
  }

  #postHttp1(url: URL, request: PostRequest): Promise<ApiResult> {
    const { path = '', shared, headers, body, timeout, signal } = request;
    return this.#http1.post({
      url: url.origin + pathOf(url, path),
      headers: Object.fromEntries([...shared, ...headers]),
      ...{ body, timeout, signal },
    });
  }

  #speaksHttp1(origin: string): boolean {
    return (this.#http1Until.get(origin) ?? 0) > performance.now();
  }

  /** Undefined: there are too many. */
  #poolOf(url: URL): SessionPool | undefined {
    const { origin } = url;
    const known = this.#pools.get(origin);
    if (!known && this.#pools.size >= MAX_ORIGINS && !this.#closeUnused()) return undefined;
    const pool = known ?? this.#newPool(url);
    if (known) this.#pools.delete(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  #newPool(url: URL): SessionPool {
    const { connectMs: timeout } = this.#limits;
    return new SessionPool({
      authority: url.host,
      connect: (signal) => connectHttp2(url, { guard: this.#guard, timeout, signal }),
      limits: this.#limits,
      now: () => performance.now(),
    });
  }

  /** Closes the connections that were unused for the longest time; false: all are in use. */
  #closeUnused(): boolean {
    for (const [origin, pool] of this.#pools) {
      if (!pool.isUnused) continue;
      pool.close();
      this.#pools.delete(origin);
      return true;
    }
    return false;
  }
}

function notSent({ message, error }: Http2Result & { kind: 'not_sent' }): ApiResult {
  return {
    kind: 'not_sent',
    isRefused: error instanceof AddressRefused,
    message: error === undefined ? message : messageOf(error),
  };
}

function pathOf(base: URL, path: string): string {
  const before = path === '' ? base.pathname : base.pathname.replace(/\/+$/, '');
  return before + path + base.search;
}
