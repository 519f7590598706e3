import type { Socket } from 'node:net';

/**
 * Answers what is no readable HTTP request, or came too slowly, and ends the connection. Not even a
 * path is known here.
 * @param answer `body` is JSON, in the shape of the host
 */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  answer: { socket: Socket; trace: string; body: string },
): void {
  const { socket, trace, body } = answer;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const lines = [
    `HTTP/1.1 ${statusOf(error.code)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Service-Trace: ${trace}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function statusOf(code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return '408 Request Timeout';
  if (code === 'HPE_HEADER_OVERFLOW') return '431 Request Header Fields Too Large';
  return '400 Bad Request';
}
