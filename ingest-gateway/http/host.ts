import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { answerBrokenRequest, lastAnswer } from '../../platform/http/broken-request.ts';
import { traceOf } from '../../platform/http/trace.ts';
import { discard } from './discard.ts';
import { renderFailure } from './render.ts';
import { eventRoutesByPath, type EventRoute, type Route } from './routes.ts';
import { CORS_HEADERS, send } from './send.ts';
import type { EventServer } from './serve-events.ts';

export interface HostOptions {
  routes: readonly Route[];
  events: EventServer;
  /** Serves common requests before node:http: see fast-path/fast-path.ts. */
  fastPath?: { attach: (server: Server) => void; close: () => void };
  onAnswered: (path: string, status: number) => void;
  /** Routes with path parameters; they read and answer themselves. */
  more?: readonly SelfServedRoute[];
}

/** A route that fastify matches and that answers itself. */
export interface SelfServedRoute {
  method: 'GET' | 'POST';
  /** As fastify writes it: `/s/:code`. */
  path: string;
  /** Never rejects. */
  serve: (
    params: Readonly<Record<string, string | undefined>>,
    exchange: { request: IncomingMessage; response: ServerResponse },
  ) => Promise<void>;
}

/** ms for a request to arrive, for an answer to be read, and between two requests. */
export const CLIENT_TIMEOUTS = { read: 15_000, write: 30_000, idle: 120_000 };
const TIMEOUT_CHECKS = 1000;
const MAX_PARAM_LENGTH = 16 * 1024;
const NOT_ALLOWED = renderFailure({ code: 'method_not_allowed' });

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
      const server = createIngestServer(options, handler);
      options.fastPath?.attach(server);
      return server;
    },
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
        const answer = route.handler();
        send(reply.raw, answer, {
          trace: traceOf(request.headers['x-service-trace']),
          hasCors: route.cors,
          isLast: options.events.isClosing,
        });
        options.onAnswered(route.path, answer.status);
      });
    }
  }
  for (const { method, path, serve } of options.more ?? []) {
    app.route({
      method,
      url: path,
      handler: (request, reply) => {
        reply.hijack();
        return serve(request.params as Record<string, string | undefined>, {
          request: request.raw,
          response: reply.raw,
        });
      },
    });
  }
  app.setNotFoundHandler((request, reply) => answerUnrouted(options, request, reply));
  app.setErrorHandler((_error, request, reply) => answerUnrouted(options, request, reply));
  return app;
}

function createIngestServer(
  { routes, events }: HostOptions,
  rest: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const eventRoutes: ReadonlyMap<string, EventRoute> = eventRoutesByPath(routes);
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    if (request.method === 'POST') {
      const mark = url.indexOf('?');
      const route = eventRoutes.get(mark === -1 ? url : url.slice(0, mark));
      if (route)
        return void events.serve(route, mark === -1 ? '' : url.slice(mark + 1), {
          request,
          response,
        });
    }
    // Proxies may send the absolute form (RFC 9112, 3.2.2).
    if (!url.startsWith('/') && URL.canParse(url))
      request.url = `${new URL(url).pathname}${new URL(url).search}`;
    // Content-Type is ignored (ingest 2.1); fastify would refuse one that it cannot parse.
    if (request.headers['content-type'] !== undefined)
      request.headers['content-type'] = 'application/json';
    rest(request, response);
  };
  const server = createServer(
    {
      requestTimeout: CLIENT_TIMEOUTS.read,
      headersTimeout: CLIENT_TIMEOUTS.read,
      keepAliveTimeout: CLIENT_TIMEOUTS.idle,
      connectionsCheckingInterval: TIMEOUT_CHECKS,
      requireHostHeader: false,
      noDelay: true,
    },
    listener,
  );
  server.timeout = CLIENT_TIMEOUTS.write;
  server.on('checkExpectation', listener);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answerBrokenRequest(error, socket, (code) => renderFailure({ code }).body),
  );
  server.on('connect', (_request: IncomingMessage, socket) =>
    socket.end(lastAnswer(NOT_ALLOWED.status, NOT_ALLOWED.body)),
  );
  return server;
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
  await discard(request.raw);
  const trace = traceOf(request.headers['x-service-trace']);
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
    options.onAnswered('other', 404);
  } else if (request.raw.method === 'OPTIONS') {
    raw.writeHead(204, [...CORS_HEADERS, 'X-Service-Trace', trace]).end();
    options.onAnswered('preflight', 204);
  } else {
    const allowed = options.routes
      .filter((route) => route.path === path)
      .map((route) => (route.method === 'GET' ? 'GET, HEAD' : route.method));
    const answer = {
      ...NOT_ALLOWED,
      headers: ['Allow', [...allowed, 'OPTIONS'].join(', ')],
    };
    send(raw, answer, {
      trace,
      hasCors: options.routes.some((route) => route.path === path && route.cors),
      isLast,
    });
    options.onAnswered('other', answer.status);
  }
}
