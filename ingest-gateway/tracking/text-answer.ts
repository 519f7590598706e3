import type { ServerResponse } from 'node:http';
import { lingerAfterLastAnswer } from '../../platform/http/broken-request.ts';

/** An answer that is not JSON. */
export interface TextAnswer {
  status: number;
  /** The value of Content-Type. */
  type: string;
  body: string | Buffer;
  /** Name, value, name, value. */
  headers?: readonly string[];
  /** Called when the answer is written: what the client does not wait for. */
  afterwards?: () => void;
}

/** The answers of these routes are about one person: nothing keeps, frames or guesses at them. */
const PRIVATE_HEADERS: readonly string[] = [
  ...['Cache-Control', 'no-store'],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
];
/** The policy of an answer that is no page. */
export const NO_CONTENT = ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"];

export function plainText(status: number, text: string, headers?: readonly string[]): TextAnswer {
  return {
    ...{ status, type: 'text/plain; charset=utf-8', body: text },
    headers: [...NO_CONTENT, ...(headers ?? [])],
  };
}

/** An unknown token: the same answer as for any path that is not served. */
export const NOT_FOUND = plainText(404, 'not found\n');
export const TOO_LARGE = plainText(413, 'request body too large\n');
export const UNREADABLE = plainText(400, 'unreadable body\n');
export const UNAVAILABLE_TEXT = plainText(503, 'temporarily unavailable, please retry\n', [
  'Retry-After',
  '60',
]);

/** Writes an answer. No effect when the client has left. */
export function sendText(
  response: ServerResponse,
  { status, type, body, headers = [], afterwards }: TextAnswer,
  { trace, isLast }: { trace: string; isLast: boolean },
): void {
  if (response.headersSent || response.destroyed) return;
  if (isLast && !response.req.complete) lingerAfterLastAnswer(response.socket);
  response.writeHead(status, [
    ...['Content-Type', type, 'Content-Length', String(Buffer.byteLength(body))],
    ...['X-Service-Trace', trace],
    ...PRIVATE_HEADERS,
    ...headers,
    ...(isLast ? ['Connection', 'close'] : []),
  ]);
  response.end(body, afterwards);
}
