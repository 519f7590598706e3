import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpConnections } from './http-connections.ts';
import { newTrace } from './trace.ts';

/** Why bytes on a connection are not a request. */
export type BrokenReason = 'malformed_request' | 'headers_too_large';

const STATUSES: Record<BrokenReason, number> = { malformed_request: 400, headers_too_large: 431 };

/** How long a client has to read the answer before the connection is destroyed, ms. */
export const LINGERING_CLOSE_MS = 1000;

/**
 * A request that was cut off: a proxy that lost its client does the same, and a 400 would make the
 * client discard its data. Bytes behind the last request, which `Connection: close` announced.
 */
const SILENT = new Set(['HPE_INVALID_EOF_STATE', 'HPE_CLOSED_CONNECTION']);

/** Sockets that got their answer; the bytes that still arrive on them are broken too. */
const answered = new WeakSet<Duplex>();

interface Broken {
  error: NodeJS.ErrnoException;
  socket: Duplex;
  connections: HttpConnections;
  /** The JSON of a host for the reason; the path is not known here. */
  bodyOf: (reason: BrokenReason) => string;
}

/**
 * Answers bytes that are not an HTTP request, and closes the connection. The complete requests
 * before them are answered first.
 */
export function answerBrokenRequest({ error, socket, connections, bodyOf }: Broken): void {
  if (answered.has(socket)) return;
  answered.add(socket);
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  connections.afterAnswers(socket, (isAnswered) => {
    if (!socket.writable) return;
    // Nothing may be written into the middle of an answer.
    if (connections.isAnswering(socket)) return void socket.destroy();
    if (isAnswered || SILENT.has(error.code ?? '')) return endWith(socket, undefined);
    const reason = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'malformed_request';
    endWith(socket, lastAnswer(STATUSES[reason], bodyOf(reason)));
  });
}

/**
 * Ends a connection with an answer. Closing it at once, with bytes unread, would reset it before
 * the client has read the answer.
 */
export function endWith(socket: Duplex, text: string | undefined): void {
  if (text === undefined) socket.end();
  else socket.end(text);
  setTimeout(() => socket.destroy(), LINGERING_CLOSE_MS).unref();
}

/** Makes node:http end the connection in this way behind the last answer. */
export function lingerAfterLastAnswer(socket: Socket | null): void {
  if (socket) socket.destroySoon = () => endWith(socket, undefined);
}

/** The bytes of an answer in JSON that ends its connection. */
export function lastAnswer(status: number, body: string): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Service-Trace: ${newTrace()}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
