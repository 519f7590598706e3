import { STATUS_CODES } from 'node:http';
import { CORS_HEADERS, JSON_TYPE } from '../http/send.ts';
import type { Answer } from '../http/render.ts';

const FIXED = ['Content-Type', JSON_TYPE, ...CORS_HEADERS].reduce(
  (text, part, at) => text + part + (at % 2 === 0 ? ': ' : '\r\n'),
  '',
);

/** How long an idle connection is kept, for the Keep-Alive header. */
export interface KeepAlive {
  seconds: number;
}

let dateText = '';
let dateSecond = -1;

/** The Date header's value; it changes once a second. */
function httpDate(now: number): string {
  const second = Math.floor(now / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(now).toUTCString();
  }
  return dateText;
}

/**
 * The bytes of an answer of a write-key route, with the headers and their order as `send` and
 * node:http make them.
 * @param options `bytes` are those of the body in UTF-8, `now` is milliseconds since the epoch
 */
export function answerText(
  answer: Answer,
  options: { bytes: number; trace: string; isLast: boolean; now: number; keepAlive: KeepAlive },
): string {
  const { body, status, headers } = answer;
  let text =
    status === 200
      ? 'HTTP/1.1 200 OK\r\n'
      : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`;
  text += `${FIXED}Content-Length: ${options.bytes}\r\nX-Service-Trace: ${options.trace}\r\n`;
  if (headers)
    for (let at = 0; at + 1 < headers.length; at += 2)
      text += `${headers[at] ?? ''}: ${headers[at + 1] ?? ''}\r\n`;
  if (options.isLast) text += `Connection: close\r\nDate: ${httpDate(options.now)}\r\n\r\n`;
  else
    text += `Date: ${httpDate(options.now)}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${options.keepAlive.seconds}\r\n\r\n`;
  return text + body;
}
