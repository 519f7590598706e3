import type { IncomingMessage, ServerResponse } from 'node:http';
import { traceIn } from '../../platform/http/trace.ts';
import type { Turns } from '../../platform/http/turns.ts';
import { discard } from '../http/discard.ts';
import type { SelfServedRoute } from '../http/host.ts';
import type { Answered } from '../http/serve-events.ts';
import { findSdkFile, type SdkFile, type SdkFiles } from './sdk-files.ts';

/** The route in the table of the ingest host. */
export const SDK_PATH = '/sdk/:file';

/** Pages get a new release within minutes, and run the one they have while the host is away. */
const SHORT = 'public, max-age=300, stale-while-revalidate=86400, stale-if-error=604800';
const FOR_EVER = 'public, max-age=31536000, immutable';
const NOT_FOUND = 'not found\n';

interface SdkRouteOptions {
  files: SdkFiles;
  turns: Turns;
  isClosing: () => boolean;
  onAnswered: Answered;
}

/** GET /sdk/v1.js and what it loads: files in memory, for pages of any origin. */
export function sdkRoute(options: SdkRouteOptions): SelfServedRoute {
  return {
    method: 'GET',
    path: SDK_PATH,
    serve: async ({ file: name = '' }, { request, response }) => {
      const began = performance.now();
      const file = findSdkFile(options.files, name);
      const canContinue = request.complete || (await discard(request, options.turns));
      if (response.headersSent || response.destroyed) return;
      const common = ['X-Service-Trace', traceIn(request.headers)];
      if (options.isClosing() || !canContinue) common.push('Connection', 'close');
      const status = file
        ? sendFile(file, common, { request, response })
        : sendNotFound(common, response);
      options.onAnswered(SDK_PATH, status, performance.now() - began);
    },
  };
}

function sendFile(
  file: SdkFile,
  common: readonly string[],
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): number {
  const isGzip = acceptsGzip(request);
  // The two encodings are different representations.
  const etag = `"${file.etag}${isGzip ? '-gzip' : ''}"`;
  const head = [
    ...['Access-Control-Allow-Origin', '*', 'Cross-Origin-Resource-Policy', 'cross-origin'],
    ...['X-Content-Type-Options', 'nosniff', 'Vary', 'Accept-Encoding', 'ETag', etag],
    ...['Cache-Control', file.isImmutable ? FOR_EVER : SHORT],
    ...common,
  ];
  if (matches(request.headers['if-none-match'], etag)) {
    response.writeHead(304, head).end();
    return 304;
  }
  const body = isGzip ? file.gzip : file.body;
  head.push('Content-Type', file.type, 'Content-Length', String(body.length));
  if (isGzip) head.push('Content-Encoding', 'gzip');
  if (file.map !== '') head.push('SourceMap', file.map);
  response.writeHead(200, head).end(body);
  return 200;
}

function sendNotFound(common: readonly string[], response: ServerResponse): number {
  const length = String(NOT_FOUND.length);
  const head = ['Content-Type', 'text/plain; charset=utf-8', 'Content-Length', length];
  response.writeHead(404, [...head, ...common]).end(NOT_FOUND);
  return 404;
}

/** `gzip;q=0` refuses it. */
function acceptsGzip({ headers }: IncomingMessage): boolean {
  const accepted = (headers['accept-encoding'] ?? '').slice(0, 256);
  return /(^|,)\s*gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/i.test(accepted);
}

/** If-None-Match compares weakly (RFC 9110, 13.1.2). */
function matches(sent: string | undefined, etag: string): boolean {
  const tags = (sent ?? '').slice(0, 1024).split(',');
  return tags.some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
