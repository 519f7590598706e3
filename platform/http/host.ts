import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerBrokenRequest } from './broken-request.ts';
import { HttpConnections, type ClientLimits } from './http-connections.ts';
import { inRequestSpan } from '../tracing/request-span.ts';
import { TRACE_HEADER, TRACEPARENT_HEADER, traceIn } from './trace.ts';

/**
 * Time for a head, ms (management 8.4), and for a body: 15 s without a byte, five minutes in all.
 * 408 is no answer of these hosts: a connection that is overdue ends, and clients retry.
 */
const CLIENT_LIMITS: ClientLimits = {
  ...{ head: 5000, bodyIdle: 15_000, body: 300_000 },
  // Routes bound their answers: account-api/http/deadline.ts.
  write: Infinity,
};

/**
 * The body of the answer. A Buffer is sent as it is, anything else as JSON; undefined: no body.
 */
export interface RenderedAnswer {
  status: number;
  headers?: Readonly<Record<string, string | readonly string[]>>;
  body: unknown;
}

/** A request to a route; the route reads the body itself, after its guards. */
export interface HostRequest {
  /** Without Content-Type, which is only in rawHeaders: the framework must not reject it. */
  message: IncomingMessage;
  /** To watch whether the answer is written; the host writes it. */
  response: ServerResponse;
  method: string;
  /** With its query. */
  url: string;
  params: Readonly<Record<string, string>>;
  /** ms since the epoch */
  now: number;
  trace: string;
}

export interface HostRoute {
  methods: readonly ('GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH')[];
  /** Parameters as `{name}`; a last `*` matches the rest of the path. */
  path: string;
  /** Undefined: the client left before it was answered. */
  serve: (request: HostRequest) => Promise<RenderedAnswer | undefined>;
}

export interface HostOptions {
  routes: readonly HostRoute[];
  /** The answer to a method and a URL that no route has. */
  unknown: (method: string, url: string) => RenderedAnswer;
  /** The answer to a request whose route rejected. */
  failed: (error: unknown, request: { trace: string; url: string | undefined }) => RenderedAnswer;
  /** JSON, for bytes that are not a request. */
  malformed: string;
  /** On every answer. */
  headers?: Readonly<Record<string, string>>;
  maxConnections?: number;
  /** Characters of a path parameter; a longer one matches no route. */
  maxParamLength?: number;
  /** Called after each answer; what no route has is one label. */
  observe?: (labels: { route: string; method: string; status: number }, seconds: number) => void;
}

/** A host for its routes; everything else is `unknown`. It does not listen yet. */
export function buildHost(options: HostOptions): FastifyInstance {
  const { routes, failed, malformed, maxConnections, maxParamLength, observe } = options;
  const host = fastify({
    logger: false,
    exposeHeadRoutes: false,
    ...(maxParamLength === undefined ? {} : { routerOptions: { maxParamLength } }),
    frameworkErrors: (_error, request, reply) => void sendUnknown(request, reply),
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest({
        ...{ error, socket, connections, bodyOf: () => malformed },
      }),
  });
  const connections = new HttpConnections({ server: host.server, limits: CLIENT_LIMITS });
  if (maxConnections !== undefined) host.server.maxConnections = maxConnections;

  const markReply = (request: FastifyRequest, reply: FastifyReply) => {
    if (reply.hasHeader(TRACE_HEADER)) return;
    reply.header(TRACE_HEADER, traceIn(request.headers));
    if (options.headers) reply.headers(options.headers);
  };
  const sendUnknown = (request: FastifyRequest, reply: FastifyReply) => {
    markReply(request, reply);
    return send(reply, options.unknown(request.method, request.raw.url ?? ''));
  };

  // Routes read bodies themselves, after their guards, and ignore the content type (management 4).
  host.removeAllContentTypeParsers();
  host.addContentTypeParser('*', (_request, _payload, done) => done(null));
  host.addHook('onRequest', (request, reply, done) => {
    delete request.raw.headers['content-type'];
    markReply(request, reply);
    // Otherwise the framework would read the body of a request that no route serves.
    if (request.is404) sendUnknown(request, reply);
    else done();
  });
  host.setErrorHandler((error, request, reply) =>
    send(reply, failed(error, { trace: traceOfReply(reply), url: request.routeOptions.url })),
  );
  host.setNotFoundHandler(sendUnknown);
  if (observe) {
    host.addHook('onResponse', (request, reply, done) => {
      const labels = request.is404
        ? { route: 'unknown', method: 'any' }
        : { route: request.routeOptions.url ?? 'unknown', method: request.method };
      observe({ ...labels, status: reply.statusCode }, reply.elapsedTime / 1000);
      done();
    });
  }
  for (const route of routes) addRoute(host, route);
  return host;
}

function addRoute(host: FastifyInstance, { methods, path, serve }: HostRoute): void {
  host.route({
    method: [...methods],
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const { method, raw: message } = request;
      const trace = traceOfReply(reply);
      const traceparent = message.headers[TRACEPARENT_HEADER];
      const answer = await inRequestSpan(
        { method, route: path, trace, traceparent },
        () =>
          serve({
            ...{ message, response: reply.raw, method, trace, now: Date.now() },
            url: message.url ?? '',
            params: request.params as Record<string, string>,
          }),
        (served) => served?.status,
      );
      if (answer === undefined || reply.raw.destroyed) return reply.hijack();
      return send(reply, answer);
    },
  });
}

function send(reply: FastifyReply, { status, headers = {}, body }: RenderedAnswer): FastifyReply {
  for (const [header, value] of Object.entries(headers)) reply.header(header, value);
  reply.code(status);
  if (body === undefined || Buffer.isBuffer(body)) return reply.send(body);
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}

function traceOfReply(reply: FastifyReply): string {
  return String(reply.getHeader(TRACE_HEADER));
}
