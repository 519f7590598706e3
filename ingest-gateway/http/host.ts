import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  answerBrokenRequest,
  endWith,
  lastAnswer,
  lingerAfterLastAnswer,
} from '../../platform/http/broken-request.ts';
import type { ClientClock } from '../../platform/http/client-clock.ts';
import { HttpConnections } from '../../platform/http/http-connections.ts';
import { TRACE_HEADER, TRACEPARENT_HEADER, traceIn } from '../../platform/http/trace.ts';
import type { Turns } from '../../platform/http/turns.ts';
import { inRequestSpan } from '../../platform/tracing/request-span.ts';
import { tracing } from '../../platform/tracing/spans.ts';
import type { OpenConnections, WaitingConnections } from './connection-limit.ts';
import { discard } from './discard.ts';
import { renderFailure } from './render.ts';
import { eventRoutesByPath, type EventRoute, type Route } from './routes.ts';
import { CORS_HEADERS, send } from './send.ts';
import type { Answered, EventServer } from './serve-events.ts';

export interface HostOptions {
  routes: readonly Route[];
  events: EventServer;
  /** Serves common requests (fast-path/fast-path.ts); without it node:http does. */
  fastPath?: WaitingConnections & { attach: (server: Server) => void; close: () => void };
  onAnswered: Answered;
  clock: ClientClock;
  connections: OpenConnections;
  /** Of the pieces of large bodies that nobody wants. */
  turns: Turns;
  /** Routes with path parameters; they read and answer themselves. */
  more?: readonly SelfServedRoute[];
}

/** A route that fastify matches and that answers itself. */
export interface SelfServedRoute {
  method: 'GET' | 'POST';
  /** As fastify writes it: `/s/:code`. */
  path: string;
  /** Its answers have CORS headers (ingest 4.1). */
  cors?: true;
  /** Never rejects. */
  serve: (
    params: Readonly<Record<string, string | undefined>>,
    exchange: { request: IncomingMessage; response: ServerResponse },
  ) => Promise<void>;
}

/**
 * How long clients may take, ms. A body may take five minutes while bytes arrive: 5 MiB at
 * 140 kbit/s, which is a slow mobile uplink. `idle` is the time between two requests.
 */
export const CLIENT_LIMITS = {
  ...{ head: 15_000, bodyIdle: 15_000, body: 300_000 },
  ...{ write: 30_000, idle: 120_000 },
};
/** Requests of one connection in progress; more get 503, so that none occupies all of the host. */
const MAX_PIPELINED = 100;
const MAX_PARAM_LENGTH = 16 * 1024;
const NOT_ALLOWED = renderFailure({ code: 'method_not_allowed' });
const UNAVAILABLE = renderFailure({ code: 'unavailable' });

/**
 * The ingest host. The fast path serves common requests of write-key routes, node:http the other
 * requests of these routes, and fastify everything else.
 */
export function createHost(options: HostOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    // A token or code that is longer is unknown.
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    exposeHeadRoutes: true,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    serverFactory: (handler) => {
      const { server, connections } = createIngestServer(options, handler);
      const { fastPath } = options;
      fastPath?.attach(server);
      options.connections.watch(server, fastPath ? [connections, fastPath] : [connections]);
      return server;
    },
    // createIngestServer has one; that of the framework would write a second answer.
    clientErrorHandler: () => undefined,
    frameworkErrors: (_error, request, reply) => void answerUnrouted(options, request, reply),
  });
  app.addHook('preClose', (done) => {
    options.fastPath?.close();
    done();
  });
  app.removeAllContentTypeParsers();
  // Routes read bodies themselves.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const route of options.routes) {
    if (route.auth === 'write_key') {
      app.post(route.path, (request, reply) => {
        reply.hijack();
        return options.events.serve(route, queryOf(request.raw), {
          request: request.raw,
          response: reply.raw,
        });
      });
    } else {
      app.get(route.path, (request, reply) => {
        reply.hijack();
        const began = performance.now();
        const answer = route.handler();
        send(reply.raw, answer, {
          trace: traceIn(request.headers),
          hasCors: route.cors,
          isLast: options.events.isClosing,
        });
        options.onAnswered(route.path, answer.status, performance.now() - began);
      });
    }
  }
  for (const { method, path, serve } of options.more ?? []) {
    app.route({
      method,
      url: path,
      handler: (request, reply) => {
        reply.hijack();
        const { raw } = request;
        const exchange = { request: raw, response: reply.raw };
        const params = request.params as Record<string, string | undefined>;
        if (!tracing()) return serve(params, exchange);
        const trace = traceIn(raw.headers);
        // The route reads it again: a request has one trace.
        raw.headers[TRACE_HEADER] = trace;
        return inRequestSpan(
          { method, route: path, trace, traceparent: raw.headers[TRACEPARENT_HEADER] },
          () => serve(params, exchange),
          () => (reply.raw.headersSent ? reply.raw.statusCode : undefined),
        );
      },
    });
  }
  app.setNotFoundHandler((request, reply) => answerUnrouted(options, request, reply));
  app.setErrorHandler((_error, request, reply) => answerUnrouted(options, request, reply));
  return app;
}

function createIngestServer(
  { routes, more = [], events, clock, onAnswered }: HostOptions,
  rest: (request: IncomingMessage, response: ServerResponse) => void,
): { server: Server; connections: HttpConnections } {
  const eventRoutes: ReadonlyMap<string, EventRoute> = eventRoutesByPath(routes);
  const withCors = new Set([...routes, ...more].flatMap((one) => (one.cors ? [one.path] : [])));
  const routeOf = (request: IncomingMessage) =>
    request.method === 'POST' ? eventRoutes.get(pathOf(request)) : undefined;
  const answerUnavailable = (
    request: IncomingMessage,
    response: ServerResponse,
    { isLast }: { isLast: boolean },
  ) => {
    const route = routeOf(request);
    const trace = traceIn(request.headers);
    const hasCors = withCors.has(pathOf(request));
    send(response, UNAVAILABLE, { trace, hasCors, isLast });
    onAnswered(route?.path ?? 'other', UNAVAILABLE.status, 0);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    // It came behind the last answer: nothing may be done for it that is not answered.
    if (!request.socket.writable) return;
    if (connections.inProgress(request.socket) > MAX_PIPELINED) {
      answerUnavailable(request, response, { isLast: events.isClosing });
      return;
    }
    const route = routeOf(request);
    if (route) return void events.serve(route, queryOf(request), { request, response });
    // Proxies may send the absolute form (RFC 9112, 3.2.2).
    if (!url.startsWith('/') && URL.canParse(url))
      request.url = `${new URL(url).pathname}${new URL(url).search}`;
    // Content-Type is ignored (ingest 2.1); fastify would refuse one that it cannot parse.
    if (request.headers['content-type'] !== undefined)
      request.headers['content-type'] = 'application/json';
    rest(request, response);
  };
  const server = createServer(
    { keepAliveTimeout: CLIENT_LIMITS.idle, requireHostHeader: false, noDelay: true },
    listener,
  );
  // A client that has ended its side still gets its answers.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', lingerAfterLastAnswer);
  const connections = new HttpConnections({
    ...{ server, limits: CLIENT_LIMITS, clock },
    answerOverdue: (request, response) => answerUnavailable(request, response, { isLast: true }),
  });
  server.on('checkExpectation', listener);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answerBrokenRequest({
      ...{ error, socket, connections, bodyOf: (code) => renderFailure({ code }).body },
    }),
  );
  server.on('connect', (_request: IncomingMessage, socket) => {
    // node:http has removed its own listener: without one, a reset would end the process.
    socket.on('error', () => undefined);
    connections.afterAnswers(socket, () =>
      endWith(socket, lastAnswer(NOT_ALLOWED.status, NOT_ALLOWED.body)),
    );
  });
  return { server, connections };
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '';
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
}

function queryOf(request: IncomingMessage): string {
  const url = request.url ?? '';
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

/** Under /v1/ OPTIONS is a preflight and anything else is 405; elsewhere 404 (ingest 4.1). */
async function answerUnrouted(
  options: HostOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  await discard(request.raw, options.turns);
  const began = performance.now();
  const trace = traceIn(request.headers);
  const path = (request.raw.url ?? '').split('?')[0] ?? '';
  const isLast = options.events.isClosing;
  if (!path.startsWith('/v1/')) {
    raw
      .writeHead(404, [
        'Content-Type',
        'text/plain; charset=utf-8',
        'Content-Length',
        '10',
        'X-Service-Trace',
        trace,
      ])
      .end('not found\n');
    options.onAnswered('other', 404, performance.now() - began);
  } else if (request.raw.method === 'OPTIONS') {
    raw.writeHead(204, [...CORS_HEADERS, 'X-Service-Trace', trace]).end();
    options.onAnswered('preflight', 204, performance.now() - began);
  } else {
    const served = [...options.routes, ...(options.more ?? [])].filter(
      (route) => route.path === path,
    );
    const allowed = served.map((route) => (route.method === 'GET' ? 'GET, HEAD' : route.method));
    const answer = {
      ...NOT_ALLOWED,
      headers: ['Allow', [...allowed, 'OPTIONS'].join(', ')],
    };
    send(raw, answer, {
      trace,
      hasCors: served.some((route) => route.cors),
      isLast,
    });
    options.onAnswered('other', answer.status, performance.now() - began);
  }
}
