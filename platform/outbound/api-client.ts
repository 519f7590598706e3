import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { onAbort } from '../on-abort.ts';
import { AddressRefused, guardedUrl, type OutboundGuard } from './guard.ts';
import { guardedAgents, type Agents } from './guarded-agents.ts';

export interface ApiRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
  /** In total, ms: DNS, connection, and the answer to its end. */
  timeout: number;
  signal?: AbortSignal | undefined;
}

/** What became of a request that is never sent twice. */
export type ApiResult =
  | { kind: 'answered'; status: number; headers: IncomingHttpHeaders; body: string }
  /** Not a byte of the request was sent. `isRefused`: by the address guard, and always will be. */
  | { kind: 'not_sent'; isRefused: boolean; message: string }
  /** It may have arrived: the connection or the time ended before the answer did. */
  | { kind: 'lost'; message: string };

/** Of an answer; what is longer is cut. */
const MAX_BODY_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Servers close idle connections after 5 s and more: a request into a closed one would be lost. */
const KEPT_MS = 2000;
/** As many as may be in use: messages go out in groups, which reuse the connections of the last. */
const KEPT_COUNT = 64;

/**
 * HTTP to the APIs of providers, at URLs that an account may have entered: with the address guard,
 * kept connections, and limits of time and size. Follows no redirects and repeats nothing, because
 * a repeated request may be a second message.
 */
export class ApiClient {
  readonly #guard: OutboundGuard;
  readonly #agents: Agents;

  constructor(guard: OutboundGuard) {
    this.#guard = guard;
    this.#agents = guardedAgents({ ...guard, keptFor: KEPT_MS, keptCount: KEPT_COUNT });
  }

  /** Never rejects. Messages name neither the path nor the query: they may hold credentials. */
  async post(request: ApiRequest): Promise<ApiResult> {
    let url: URL;
    try {
      url = guardedUrl(request.url, this.#guard);
    } catch (error) {
      return notSent(error);
    }
    return request.signal?.aborted
      ? notSent(new Error('aborted before it was sent'))
      : await exchange(url, request, this.#agents);
  }

  close(): void {
    this.#agents.destroy();
  }
}

function notSent(error: unknown): ApiResult {
  return {
    kind: 'not_sent',
    isRefused: error instanceof AddressRefused,
    message: messageOf(error),
  };
}

/** The system's code where there is one: its message names addresses inside. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === undefined || code === undefined ? error.message : `${syscall} ${code}`;
}

function exchange(url: URL, options: ApiRequest, agents: Agents): Promise<ApiResult> {
  const { headers, body, timeout, signal } = options;
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
  return new Promise((resolve) => {
    let isSent = false;
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    const request: ClientRequest = send(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      agent: agents.kept[protocol],
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    const aborted = () => request.destroy(new Error('aborted'));
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${timeout / 1000} s`)),
      timeout,
    );
    const end = (result: ApiResult) => {
      clearTimeout(timer);
      stopListening?.();
      resolve(result);
    };
    let fail = (error: unknown) =>
      end(isSent ? { kind: 'lost', message: messageOf(error) } : notSent(error));
    const stopListening = signal && onAbort(signal, aborted);
    request.once('socket', (socket) => {
      // Nothing is written before a new connection is open, and for https encrypted.
      if (!socket.connecting) isSent = true;
      else
        socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
          isSent = !socket.destroyed;
        });
    });
    request.on('error', (error) => fail(error));
    request.once('close', () => fail(new Error('the connection was closed without an answer')));
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const status = response.statusCode ?? 0;
      const finish = () => {
        const text = Buffer.concat(chunks).toString('utf8', 0, MAX_BODY_BYTES);
        end({ kind: 'answered', status, headers: response.headers, body: text });
      };
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length <= MAX_BODY_BYTES) return;
        finish();
        response.destroy();
      });
      response.once('end', finish);
      response.on('error', (error) => fail(error));
      // A refusal needs no body; an acceptance without its body is not understood.
      if (status < 200 || status >= 300) fail = finish;
    });
    request.end(body);
  });
}
