import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Histogram } from 'prom-client';
import type { Log } from '../../platform/log.ts';
import { refuse, renderError, type Answer } from '../errors.ts';
import { StoreUnavailable } from '../store.ts';
import { answerBrokenRequest } from '../../platform/network/broken-request.ts';
import { TRACE_HEADER, traceOf } from './trace.ts';

const BROKEN = JSON.stringify(renderError({ code: 'malformed_request' }).body);

/** ms that a client may take for the head of a request, and for all of it. */
const LISTENER = { header: 5000, read: 15_000 };
const MAX_CONNECTIONS = 1000;

/** A request on its way to a row; the row reads the body itself, behind its guards. */
export interface HostRequest {
  message: IncomingMessage;
  /** Content-Type as it was sent; the framework must not judge it. */
  contentType: string | undefined;
  method: string;
  /** With its query. */
  url: string;
  params: Readonly<Record<string, string>>;
  /** ms since the epoch */
  now: number;
  trace: string;
}

export interface HostRow {
  methods: readonly ('GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH')[];
  /** Parameters as `{name}`; a last `*` takes whatever follows. */
  path: string;
  /** Undefined: the client left before it was answered. */
  serve(request: HostRequest): Promise<Answer | undefined>;
}

interface HostOptions {
  /** Of the metric's label. */
  name: 'panel' | 'control';
  rows: readonly HostRow[];
  log: Log;
  seconds: Histogram<'listener' | 'route' | 'method' | 'status'> | undefined;
}

/**
 * Serves the rows and answers 404 to everything else: other methods, OPTIONS and HEAD among it.
 * Nothing of it may be cached, and nothing guessed about its type.
 */
export function buildHost({ name, rows, log, seconds }: HostOptions): FastifyInstance {
  const host = fastify({
    logger: false,
    exposeHeadRoutes: false,
    requestTimeout: LISTENER.read,
    http: {
      headersTimeout: LISTENER.header,
      requestTimeout: LISTENER.read,
      connectionsCheckingInterval: 1000,
    },
    frameworkErrors: (_error, request, reply) => {
      sendUnknown(request, reply);
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, { socket, trace: newTrace(), body: BROKEN }),
  });
  host.server.maxConnections = MAX_CONNECTIONS;
  host.removeAllContentTypeParsers();
  host.addContentTypeParser('*', (_request, _payload, done) => done(null));
  host.addHook('onRequest', (request, reply, done) => {
    // It stays in rawHeaders, where a row finds it.
    delete request.raw.headers['content-type'];
    markReply(request, reply);
    // Without this the framework would read the body of a request that nobody serves.
    if (request.is404) sendUnknown(request, reply);
    else done();
  });
  host.setErrorHandler((error, request, reply) => {
    // Errors of the clients carry what was asked, so only their words are logged.
    const about = { code: 'request_failed', trace: traceIn(reply), url: request.routeOptions.url };
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreUnavailable) {
      log.warn(
        about,
        `PostgreSQL did not answer as it should (${message}); the request was answered 503`,
      );
      return send(reply, refuse('unavailable'));
    }
    log.error(
      { ...about, stack: error instanceof Error ? error.stack : undefined },
      `a request failed unexpectedly: ${message}`,
    );
    return send(reply, refuse('internal'));
  });
  host.setNotFoundHandler((request, reply) => sendUnknown(request, reply));
  if (seconds) {
    host.addHook('onResponse', (request, reply, done) => {
      const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
      seconds.observe(
        {
          listener: name,
          route,
          method: request.is404 ? 'any' : request.method,
          status: reply.statusCode,
        },
        reply.elapsedTime / 1000,
      );
      done();
    });
  }
  for (const row of rows) addRow(host, row);
  return host;
}

function addRow(host: FastifyInstance, row: HostRow): void {
  host.route({
    method: [...row.methods],
    url: row.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const outcome = await row.serve({
        message: request.raw,
        contentType: rawHeader(request.raw, 'content-type'),
        method: request.method,
        url: request.raw.url ?? '',
        params: request.params as Record<string, string>,
        now: Date.now(),
        trace: traceIn(reply),
      });
      if (outcome === undefined || reply.raw.destroyed) return reply.hijack();
      return send(reply, outcome);
    },
  });
}

function send(reply: FastifyReply, outcome: Answer): FastifyReply {
  const { status, headers = {}, body } = outcome.ok ? outcome : renderError(outcome.error);
  for (const [header, value] of Object.entries(headers)) reply.header(header, value);
  if (body === undefined) return reply.code(status).send();
  if (Buffer.isBuffer(body)) return reply.code(status).send(body);
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body));
}

/** Names method and path, without the query. */
function sendUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  markReply(request, reply);
  const path = (request.raw.url ?? '').split('?')[0]?.slice(0, 200) ?? '';
  return send(
    reply,
    refuse('unknown_endpoint', { message: `no such endpoint: ${request.method} ${path}` }),
  );
}

function markReply(request: FastifyRequest, reply: FastifyReply): void {
  if (reply.hasHeader(TRACE_HEADER)) return;
  reply.headers({
    [TRACE_HEADER]: traceOf(request.headers[TRACE_HEADER], newTrace),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
}

function traceIn(reply: FastifyReply): string {
  return String(reply.getHeader(TRACE_HEADER));
}

function newTrace(): string {
  return randomBytes(8).toString('hex');
}

function rawHeader(message: IncomingMessage, name: string): string | undefined {
  const at = message.rawHeaders.findIndex(
    (text, index) => index % 2 === 0 && text.toLowerCase() === name,
  );
  return at < 0 ? undefined : message.rawHeaders[at + 1];
}
