import type { ServerResponse } from 'node:http';
import { lingerAfterLastAnswer } from '../../platform/http/broken-request.ts';
import type { Answer } from './render.ts';

/** On every answer of a write-key route, even before the key is checked (ingest 4.1). */
export const CORS_HEADERS: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Allow-Methods',
  'POST, OPTIONS',
  'Access-Control-Allow-Headers',
  'Content-Type, Authorization, X-Service-Key',
  'Access-Control-Max-Age',
  '86400',
];

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The headers of common answers and the indexes of the values that vary; reused by all answers. */
function headTemplate(headers: readonly string[]): {
  head: string[];
  length: number;
  trace: number;
} {
  const head = ['Content-Type', JSON_TYPE, ...headers, 'Content-Length', '', 'X-Service-Trace', ''];
  return { head, length: head.length - 3, trace: head.length - 1 };
}

const PLAIN = headTemplate([]);
const WITH_CORS = headTemplate(CORS_HEADERS);

/** Writes an answer with the headers that every answer has. No effect when the client has left. */
export function send(
  response: ServerResponse,
  answer: Answer,
  { trace, hasCors, isLast }: { trace: string; hasCors: boolean; isLast: boolean },
): void {
  if (response.headersSent || response.destroyed) return;
  const template = hasCors ? WITH_CORS : PLAIN;
  template.head[template.length] = String(Buffer.byteLength(answer.body));
  template.head[template.trace] = trace;
  const more = [...(answer.headers ?? []), ...(isLast ? ['Connection', 'close'] : [])];
  if (isLast && !response.req.complete) lingerAfterLastAnswer(response.socket);
  response.writeHead(
    answer.status,
    more.length === 0 ? template.head : [...template.head, ...more],
  );
  response.end(answer.body);
}
