import type { Exchange } from './exchange.ts';
import { FrameWriter } from './frame-writer.ts';
import {
  DEFAULT_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  ERROR,
  MAX_WINDOW_BYTES,
  ProtocolError,
} from './frames.ts';
import type { ServerSettings } from './frame-dispatch.ts';
import { HeaderEncoder, type SharedHeaders } from './header-encoder.ts';

/** Streams at a time, whatever the server allows. */
const MAX_STREAMS = 1000;

/** Requests that are on streams; writes as much of them as the windows of the server allow. */
export class Outgoing {
  readonly writer = new FrameWriter();
  readonly #encoder = new HeaderEncoder();
  readonly #authority: SharedHeaders;
  readonly #exchanges = new Map<number, Exchange>();
  /** Their frames are in the writer. */
  #unflushed: Exchange[] = [];
  /** A part of their body waits for a window. */
  readonly #blocked = new Set<Exchange>();
  /** None before SETTINGS arrive. */
  #maxStreams = 0;
  #streamWindow = DEFAULT_WINDOW_BYTES;
  #window = DEFAULT_WINDOW_BYTES;

  constructor(authority: string) {
    this.#authority = [[':authority', authority]];
  }

  get count(): number {
    return this.#exchanges.size;
  }

  /** How many requests may be started. */
  get room(): number {
    return this.#blocked.size > 0 || this.#window <= 0 ? 0 : this.#maxStreams - this.count;
  }

  get(streamId: number): Exchange | undefined {
    return this.#exchanges.get(streamId);
  }

  all(): Exchange[] {
    return [...this.#exchanges.values()];
  }

  start(exchange: Exchange, streamId: number): void {
    this.#exchanges.set(streamId, exchange);
    this.#unflushed.push(exchange);
    exchange.streamId = streamId;
    exchange.window = this.#streamWindow;
    const { path, shared, headers } = exchange.request;
    const block = this.#encoder.post({ path, shared: [this.#authority, shared], headers });
    this.writer.headers(streamId, block);
    this.#sendBody(exchange);
  }

  /** `resetCode`: the server is asked to stop. */
  remove(exchange: Exchange, resetCode?: number): void {
    this.#exchanges.delete(exchange.streamId);
    this.#blocked.delete(exchange);
    if (resetCode !== undefined) this.writer.rstStream(exchange.streamId, resetCode);
  }

  /** Removes everything. */
  end(): { handedOver: Exchange[]; unflushed: Exchange[] } {
    const unflushed = new Set(this.#unflushed);
    const all = this.all();
    this.#exchanges.clear();
    return {
      handedOver: all.filter((exchange) => !unflushed.has(exchange)),
      unflushed: all.filter((exchange) => unflushed.has(exchange)),
    };
  }

  /** What was written since the last call, which is about to be handed to the socket. */
  take(): Buffer {
    const started = this.#unflushed;
    this.#unflushed = [];
    for (const exchange of started)
      // It may be on another connection by now.
      if (this.#exchanges.get(exchange.streamId) === exchange) exchange.isHandedOver = true;
    return this.writer.take();
  }

  apply(settings: ServerSettings, options: { isFirst: boolean }): void {
    const { maxConcurrentStreams, initialWindowSize, headerTableSize, maxFrameSize } = settings;
    if (maxConcurrentStreams !== undefined || options.isFirst)
      this.#maxStreams = Math.min(maxConcurrentStreams ?? MAX_STREAMS, MAX_STREAMS);
    if (headerTableSize !== undefined) this.#encoder.setMaxTableBytes(headerTableSize);
    if (maxFrameSize !== undefined)
      this.writer.maxFrameBytes = Math.max(DEFAULT_FRAME_BYTES, maxFrameSize);
    if (initialWindowSize !== undefined) this.#resizeWindows(initialWindowSize);
  }

  /** Throws ProtocolError. `exchange` undefined: the window of the connection. */
  growWindow(exchange: Exchange | undefined, bytes: number): void {
    if (exchange) exchange.window = grown(exchange.window, bytes);
    else this.#window = grown(this.#window, bytes);
    this.#sendBlocked();
  }

  #resizeWindows(bytes: number): void {
    const change = grown(0, bytes) - this.#streamWindow;
    this.#streamWindow = bytes;
    for (const exchange of this.#exchanges.values())
      exchange.window = grown(exchange.window, change);
    this.#sendBlocked();
  }

  #sendBlocked(): void {
    for (const exchange of this.#blocked) this.#sendBody(exchange);
  }

  /** As much of it as the windows allow. */
  #sendBody(exchange: Exchange): void {
    const { body } = exchange.request;
    for (;;) {
      const rest = body.length - exchange.sentBytes;
      const window = Math.min(this.#window, exchange.window);
      const bytes = Math.min(rest, window, this.writer.maxFrameBytes);
      if (bytes <= 0 && rest > 0) {
        this.#blocked.add(exchange);
        return;
      }
      const data = body.subarray(exchange.sentBytes, exchange.sentBytes + bytes);
      this.writer.data(exchange.streamId, data, { isEnd: bytes === rest });
      exchange.sentBytes += bytes;
      exchange.window -= bytes;
      this.#window -= bytes;
      if (bytes < rest) continue;
      this.#blocked.delete(exchange);
      return;
    }
  }
}

function grown(window: number, bytes: number): number {
  if (window + bytes > MAX_WINDOW_BYTES)
    throw new ProtocolError(ERROR.flowControl, 'a window is too large');
  return window + bytes;
}
