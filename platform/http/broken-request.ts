import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { newTrace } from './trace.ts';

/** Why bytes on a connection are not a request. */
export type BrokenReason = 'malformed_request' | 'headers_too_large' | 'request_timed_out';

const REASONS: Record<string, BrokenReason> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timed_out',
};
const STATUSES: Record<BrokenReason, number> = {
  malformed_request: 400,
  headers_too_large: 431,
  request_timed_out: 408,
};

/** How long a client has to read the answer before the connection is destroyed, ms. */
export const LINGERING_CLOSE_MS = 1000;

/** Sockets that got their answer; the bytes that still arrive on them are broken too. */
const answered = new WeakSet<Duplex>();

/**
 * Answers bytes that are not an HTTP request, or arrive too slowly, and closes the connection.
 * @param bodyOf the JSON of a host for the reason; the path is not known here
 */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex & { _httpMessage?: ServerResponse | null },
  bodyOf: (reason: BrokenReason) => string,
): void {
  if (answered.has(socket)) return;
  answered.add(socket);
  // node:http keeps the answer that it is writing in _httpMessage; another one must not be written
  // into the middle of it.
  if (
    error.code === 'ECONNRESET' ||
    !socket.writable ||
    socket._httpMessage?.headersSent === true
  ) {
    socket.destroy();
    return;
  }
  const reason = REASONS[error.code ?? ''] ?? 'malformed_request';
  socket.end(lastAnswer(STATUSES[reason], bodyOf(reason)));
  // Closing at once, with bytes unread, would reset the connection before the client has read the
  // answer.
  setTimeout(() => socket.destroy(), LINGERING_CLOSE_MS).unref();
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
