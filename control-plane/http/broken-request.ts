import type { Socket } from 'node:net';
import { renderError } from '../errors.ts';
import { TRACE_HEADER } from './trace.ts';

/** Answers what is no readable HTTP request, or came too slowly, and ends the connection. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, { socket, trace }: { socket: Socket; trace: string }): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(renderError({ code: 'malformed_request' }).body);
  const lines = [
    `HTTP/1.1 ${statusOf(error.code)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `${TRACE_HEADER}: ${trace}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function statusOf(code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return '408 Request Timeout';
  if (code === 'HPE_HEADER_OVERFLOW') return '431 Request Header Fields Too Large';
  return '400 Bad Request';
}
