import type { Header } from './header-decoder.ts';
import type { SharedHeaders } from './header-encoder.ts';

export interface Http2Request {
  path: string;
  /** In lower case; values in Latin-1, without control characters. */
  shared: SharedHeaders;
  headers: readonly Header[];
  body: Buffer;
}

/** What became of a request. */
export type Http2Result =
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: string }
  /** The server certainly did not process it. `error`: why there is no connection. */
  | { kind: 'not_sent'; message: string; error?: unknown }
  /** It was handed to the socket, and its answer is lost: it may have been processed. */
  | { kind: 'lost'; message: string };

/** Of an answer; what is longer is cut. */
const MAX_BODY_BYTES = 16 * 1024;

/** A request on its way, and what has arrived of its answer. */
export class Exchange {
  readonly request: Http2Request;
  /** On the pool's clock, ms: from waiting for a connection to the end of the answer. */
  readonly deadline: number;
  /** 0: on no stream. */
  streamId = 0;
  /** Its HEADERS, or more, were handed to the socket. */
  isHandedOver = false;
  /** How often a server said that it did not process it. */
  refusals = 0;
  /** Bytes of the body that are in DATA frames. */
  sentBytes = 0;
  /** How many more the server allows on the stream. */
  window = 0;
  /** Called at the end. */
  release: (() => void) | undefined;
  readonly #resolve: (result: Http2Result) => void;
  #status = 0;
  #headers: Record<string, string> = {};
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #isDone = false;

  constructor(
    request: Http2Request,
    options: { deadline: number; resolve: (result: Http2Result) => void },
  ) {
    this.request = request;
    this.deadline = options.deadline;
    this.#resolve = options.resolve;
  }

  get isAnswered(): boolean {
    return this.#status !== 0;
  }

  get isSent(): boolean {
    return this.sentBytes === this.request.body.length;
  }

  /** The final headers of the answer. */
  answer(status: number, headers: readonly Header[]): void {
    this.#status = status;
    this.#headers = Object.fromEntries(headers);
  }

  /** False when the body is as long as it may be. */
  receive(bytes: Buffer): boolean {
    const part = bytes.subarray(0, MAX_BODY_BYTES - this.#bodyBytes);
    // A copy: a part would keep the whole chunk in memory.
    if (part.length > 0) this.#body.push(Buffer.from(part));
    this.#bodyBytes += part.length;
    return this.#bodyBytes < MAX_BODY_BYTES;
  }

  /** The answer ended, or is cut. */
  finish(): void {
    const { length } = this.#body;
    const body = length === 0 ? '' : Buffer.concat(this.#body).toString('utf8');
    this.#end({ kind: 'answered', status: this.#status, headers: this.#headers, body });
  }

  /**
   * Nothing more arrives. The status is an answer even when its body is incomplete; without one the
   * request may have been processed if it was handed over.
   */
  fail(message: string): void {
    if (this.isAnswered) this.finish();
    else if (this.isHandedOver) this.#end({ kind: 'lost', message });
    else this.notSent(message);
  }

  /** The server certainly did not process it. */
  notSent(message: string, error?: unknown): void {
    this.#end({ kind: 'not_sent', message, ...(error === undefined ? {} : { error }) });
  }

  /** Ready for another stream. */
  reset(): void {
    this.streamId = 0;
    this.isHandedOver = false;
    this.sentBytes = 0;
  }

  #end(result: Http2Result): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.release?.();
    this.#resolve(result);
  }
}
