import type { Socket } from 'node:net';
import type { Exchange } from './exchange.ts';
import {
  FrameDispatch,
  type FrameHandlers,
  type GoAway,
  type ServerSettings,
} from './frame-dispatch.ts';
import { FrameReader } from './frame-reader.ts';
import { DEFAULT_WINDOW_BYTES, ERROR, errorName, PREFACE, ProtocolError } from './frames.ts';
import type { Header } from './header-decoder.ts';
import { Outgoing } from './outgoing.ts';

export interface SessionLimits {
  /** How long connecting may take, and the server's first SETTINGS after that, ms. */
  connectMs: number;
  /** Nothing is sent after this silence of the server before it answered a PING, ms. */
  quietMs: number;
  /** How long an answer to a PING is waited for, ms. */
  pingMs: number;
  /** A connection without requests is closed after this time, ms. */
  idleMs: number;
}

interface SessionOptions {
  /** Connected; it speaks HTTP/2 and is open. */
  socket: Socket;
  /** Host and port, as `:authority` writes them. */
  authority: string;
  limits: SessionLimits;
  /** ms, monotonic */
  now: () => number;
  /** There may be room for requests. */
  onRoom: () => void;
  /** The server certainly did not process this one. */
  onRefused: (exchange: Exchange, message: string) => void;
  onEnd: (message: string) => void;
}

/** Bytes that the socket has not accepted yet; with more of them no request is started. */
const MAX_BUFFERED_BYTES = 512 * 1024;
/** A server that lets so many bytes wait does not read. */
const MAX_UNREAD_BYTES = 16 * 2 ** 20;
/** Far below the last one: then the connection is replaced. */
const MAX_STREAM_ID = 2 ** 30;
const RECEIVE_WINDOW_BYTES = 2 ** 20;
const PING_PAYLOAD = Buffer.from('ravand\0\0');
/** How long a closed connection waits for the server to close it too, ms. */
const CLOSING_MS = 1000;

/**
 * One connection of HTTP/2 that sends small requests and reads small answers. Written by hand:
 * node:http2 makes a stream object for each request, which costs five times as much CPU
 * (bench/push.ts), and it does not say which requests were handed to the socket.
 */
export class Http2Session implements FrameHandlers {
  readonly #options: SessionOptions;
  readonly #outgoing: Outgoing;
  readonly #dispatch = new FrameDispatch(this);
  #nextStreamId = 1;
  #hasSettings = false;
  /** Bytes of DATA since the last WINDOW_UPDATE. */
  #received = 0;
  #receivedAt: number;
  #usedAt: number;
  #pingedAt: number | undefined;
  #flushing: NodeJS.Immediate | undefined;
  /** Why no request is started any more. */
  #drainReason: string | undefined;
  #isEnded = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#outgoing = new Outgoing(options.authority);
    this.#receivedAt = this.#usedAt = options.now();
    const { socket } = options;
    const reader = new FrameReader((frame) => {
      if (!this.#isEnded) this.#dispatch.push(frame);
    });
    socket.on('data', (chunk: Buffer) => this.#receive(reader, chunk));
    socket.on('drain', () => this.#options.onRoom());
    socket.on('error', (error) => this.end(error.message));
    socket.on('end', () => this.end(this.#drainReason ?? 'the server closed the connection'));
    socket.on('close', () => this.end(this.#drainReason ?? 'the server closed the connection'));
    const { writer } = this.#outgoing;
    writer.raw(PREFACE);
    writer.settings({ enablePush: 0 });
    writer.windowUpdate(0, RECEIVE_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
    this.#flush();
  }

  get isDraining(): boolean {
    return this.#drainReason !== undefined;
  }

  /** Requests may be started once it has sent SETTINGS. */
  get isReady(): boolean {
    return this.#hasSettings;
  }

  /** No request is on its way. */
  get isUnused(): boolean {
    return this.#outgoing.count === 0;
  }

  /** At least one request. */
  get hasStarted(): boolean {
    return this.#nextStreamId > 1;
  }

  /** Nothing was received for so long that the connection may be lost. */
  get isQuiet(): boolean {
    return this.#options.now() - this.#receivedAt > this.#options.limits.quietMs;
  }

  /** How many requests may be started now. */
  get room(): number {
    const isFull = this.#options.socket.writableLength > MAX_BUFFERED_BYTES;
    return this.#isEnded || this.isDraining || isFull ? 0 : this.#outgoing.room;
  }

  /** There is room for it. */
  start(exchange: Exchange): void {
    this.#outgoing.start(exchange, this.#nextStreamId);
    this.#nextStreamId += 2;
    if (this.#nextStreamId > MAX_STREAM_ID) this.drain('the connection is out of stream ids');
    this.#flushSoon();
  }

  /** Nobody waits for the answer any more. */
  cancel(exchange: Exchange, message: string): void {
    if (this.#outgoing.get(exchange.streamId) !== exchange) return;
    this.#outgoing.remove(exchange, ERROR.cancel);
    this.#flushSoon();
    // Its frames are handed over with the next flush, if they were not before.
    exchange.isHandedOver = true;
    exchange.fail(message);
    this.#afterOne();
  }

  /** Requests that were started may end; none is started. */
  drain(reason: string): void {
    this.#drainReason ??= reason;
    this.#closeWhenDrained();
  }

  /** Asks whether the server is still there. */
  ping(): void {
    if (this.#isEnded || this.#pingedAt !== undefined) return;
    this.#pingedAt = this.#options.now();
    this.#outgoing.writer.ping(PING_PAYLOAD, { isAck: false });
    this.#flushSoon();
  }

  /** Ends what lasts too long. Called a few times a second. */
  sweep(now: number): void {
    const { connectMs, quietMs, pingMs, idleMs } = this.#options.limits;
    if (!this.#hasSettings && now - this.#receivedAt > connectMs)
      return this.end('the server sent no SETTINGS in time');
    if (this.#pingedAt !== undefined && now - this.#pingedAt > pingMs)
      return this.end(`the server answered no PING within ${pingMs / 1000} s`);
    for (const exchange of this.#outgoing.all())
      if (exchange.deadline <= now) this.cancel(exchange, 'the server did not answer in time');
    if (this.#outgoing.count > 0) {
      if (now - this.#receivedAt > quietMs) this.ping();
    } else if (this.#hasSettings && now - this.#usedAt > idleMs)
      this.drain('the connection was idle');
  }

  /** Ends the connection at once, and every request on it. */
  end(message: string, code: number = ERROR.none): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearImmediate(this.#flushing);
    const { handedOver, unflushed } = this.#outgoing.end();
    this.#closeSocket(code);
    this.#options.onEnd(message);
    for (const exchange of handedOver) exchange.fail(message);
    for (const exchange of unflushed) this.#options.onRefused(exchange, message);
  }

  onSettings(settings: ServerSettings): void {
    // Before anything that uses them: until then the server keeps to the former ones.
    this.#outgoing.writer.settingsAck();
    this.#outgoing.apply(settings, { isFirst: !this.#hasSettings });
    if (!this.#hasSettings) this.#usedAt = this.#options.now();
    this.#hasSettings = true;
    this.#flushSoon();
    this.#options.onRoom();
  }

  onHeaders(streamId: number, headers: readonly Header[], isEnd: boolean): void {
    const exchange = this.#exchangeOf(streamId);
    if (!exchange) return;
    if (!exchange.isAnswered) {
      const status = Number(headers.find(([name]) => name === ':status')?.[1]);
      if (!(status >= 100 && status <= 999)) throw malformed('an answer has no status');
      // 1xx: the answer is still to come.
      if (status < 200) return;
      exchange.answer(status, headers);
    }
    if (isEnd) this.#finish(exchange);
  }

  onData(streamId: number, data: Buffer, options: { isEnd: boolean; bytes: number }): void {
    this.#received += options.bytes;
    if (this.#received > RECEIVE_WINDOW_BYTES / 2) {
      this.#outgoing.writer.windowUpdate(0, this.#received);
      this.#received = 0;
      this.#flushSoon();
    }
    const exchange = this.#exchangeOf(streamId);
    if (!exchange) return;
    if (!exchange.isAnswered) throw malformed('a body came before its answer');
    const isCut = !exchange.receive(data);
    if (options.isEnd) this.#finish(exchange);
    else if (isCut) this.#finish(exchange, ERROR.cancel);
  }

  onReset(streamId: number, code: number): void {
    const exchange = this.#exchangeOf(streamId);
    if (!exchange) return;
    this.#outgoing.remove(exchange);
    const message = `the server reset the stream: ${errorName(code)}`;
    if (code === ERROR.refusedStream && !exchange.isAnswered)
      this.#options.onRefused(exchange, message);
    else exchange.fail(message);
    this.#afterOne();
  }

  onGoAway({ lastStreamId, code, debug }: GoAway): void {
    const reason = `the server closes the connection: ${errorName(code)} ${debug}`.trim();
    this.#drainReason ??= reason;
    const above = this.#outgoing.all().filter((exchange) => exchange.streamId > lastStreamId);
    for (const exchange of above) {
      this.#outgoing.remove(exchange);
      if (exchange.isAnswered) exchange.fail(reason);
      else this.#options.onRefused(exchange, reason);
    }
    this.#closeWhenDrained();
  }

  onPing(payload: Buffer, { isAck }: { isAck: boolean }): void {
    if (isAck) {
      this.#pingedAt = undefined;
      return this.#options.onRoom();
    }
    this.#outgoing.writer.ping(payload, { isAck: true });
    this.#flushSoon();
  }

  onWindowUpdate(streamId: number, bytes: number): void {
    if (bytes === 0) throw malformed('a window grows by nothing');
    const exchange = streamId === 0 ? undefined : this.#exchangeOf(streamId);
    if (streamId !== 0 && !exchange) return;
    this.#outgoing.growWindow(exchange, bytes);
    this.#flushSoon();
    this.#options.onRoom();
  }

  #receive(reader: FrameReader, chunk: Buffer): void {
    if (this.#isEnded) return;
    const wasQuiet = this.isQuiet;
    this.#receivedAt = this.#options.now();
    try {
      reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.end(error.message, error.code);
    }
    if (wasQuiet) this.#options.onRoom();
  }

  /** Undefined: its answer is of no interest any more. Throws ProtocolError. */
  #exchangeOf(streamId: number): Exchange | undefined {
    const exchange = this.#outgoing.get(streamId);
    if (exchange ? !exchange.isHandedOver : streamId >= this.#nextStreamId || streamId % 2 === 0)
      throw malformed('a stream has no request');
    return exchange;
  }

  /** Its answer ended, or is cut. The server is asked to stop, and needs no more of the request. */
  #finish(exchange: Exchange, resetCode = exchange.isSent ? undefined : ERROR.cancel): void {
    this.#outgoing.remove(exchange, resetCode);
    if (resetCode !== undefined) this.#flushSoon();
    exchange.finish();
    this.#dispatch.progress();
    this.#afterOne();
  }

  #afterOne(): void {
    this.#usedAt = this.#options.now();
    this.#closeWhenDrained();
    if (!this.#isEnded) this.#options.onRoom();
  }

  #closeWhenDrained(): void {
    if (this.#drainReason !== undefined && this.#outgoing.count === 0) this.end(this.#drainReason);
  }

  /** After everything that this turn of the event loop adds. */
  #flushSoon(): void {
    if (this.#outgoing.writer.isFull) this.#flush();
    else this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    if (this.#isEnded || this.#outgoing.writer.isEmpty) return;
    const { socket } = this.#options;
    socket.write(this.#outgoing.take());
    if (socket.writableLength > MAX_UNREAD_BYTES)
      this.end('the server reads nothing', ERROR.enhanceYourCalm);
  }

  #closeSocket(code: number): void {
    const { socket } = this.#options;
    if (socket.destroyed) return;
    const { writer } = this.#outgoing;
    // What waits in the writer is not sent.
    writer.take();
    writer.goAway(code);
    socket.end(writer.take());
    setTimeout(() => socket.destroy(), CLOSING_MS).unref();
  }
}

function malformed(message: string): ProtocolError {
  return new ProtocolError(ERROR.protocol, message);
}
