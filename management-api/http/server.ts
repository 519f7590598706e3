import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { randomBytes } from 'node:crypto';
import type { Registry } from 'prom-client';
import {
  clientAddress,
  parseTrustedProxies,
  type TrustedProxies,
} from '../../platform/network/client-address.ts';
import type { Answer, DomainError } from '../errors/domain-error.ts';
import { renderError } from '../errors/render.ts';
import type { Services } from '../services.ts';
import { answerBrokenRequest } from '../../platform/network/broken-request.ts';
import { observeAnswers } from './metrics.ts';
import { watchRequest } from './deadline.ts';
import type { Route } from './route.ts';
import { serve } from './serve.ts';
import { TRACE_HEADER, traceOf } from './trace.ts';
import { unknownEndpoint } from './unknown-endpoint.ts';

const BROKEN = JSON.stringify(renderError({ code: 'malformed_request' }).body);

/** Timeouts of the listener (management 8.4), ms. */
export const LISTENER = { write: 30_000, read: 15_000, header: 5000 };

export interface HostOptions {
  routes: readonly Route[];
  services: Services;
  /** TRUSTED_PROXIES: addresses and ranges whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  /** Where answers are counted. */
  registry?: Registry;
}

/**
 * The management host: the served rows of the route table, and 404 for everything else, wrong
 * methods, OPTIONS and HEAD among it (management 1.4).
 */
export function buildHost(options: HostOptions): FastifyInstance {
  const host = fastify({
    logger: false,
    exposeHeadRoutes: false,
    requestTimeout: LISTENER.read,
    http: {
      headersTimeout: LISTENER.header,
      requestTimeout: LISTENER.read,
      connectionsCheckingInterval: 1000,
    },
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (_error, request, reply) => {
      sendUnknown(request, reply);
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, { socket, trace: newTrace(), body: BROKEN }),
  });
  // The pipeline reads bodies itself, behind the guards, and never looks at the content type
  // (management 4).
  host.removeAllContentTypeParsers();
  host.addContentTypeParser('*', (_request, _payload, done) => done(null));
  host.addHook('onRequest', (request, reply, done) => {
    delete request.raw.headers['content-type'];
    markTrace(request, reply);
    // Without this the framework would read the body of a request that nobody serves.
    if (request.is404) sendUnknown(request, reply);
    else done();
  });
  host.setErrorHandler((error, request, reply) => {
    options.services.log.error(
      { err: error, code: 'request_failed', trace: traceIn(reply), url: request.routeOptions.url },
      'a request failed unexpectedly',
    );
    send(reply, { ok: false, error: { code: 'internal' } }, undefined);
  });
  host.setNotFoundHandler((request, reply) => sendUnknown(request, reply));
  if (options.registry) observeAnswers(host, options.registry);
  const proxies = parseTrustedProxies(options.trustedProxies);
  for (const route of options.routes)
    addRoute({ host, route, services: options.services, proxies });
  return host;
}

interface RouteOptions {
  host: FastifyInstance;
  route: Route;
  services: Services;
  proxies: TrustedProxies;
}

function addRoute({ host, route, services, proxies }: RouteOptions): void {
  host.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const params = request.params as Record<string, string>;
      if (Object.values(params).includes('')) return sendUnknown(request, reply);
      const watch = watchRequest({
        response: reply.raw,
        write: LISTENER.write,
        handler: route.timeout,
      });
      const head = {
        now: Date.now(),
        trace: traceIn(reply),
        params,
        query: new URLSearchParams(request.url.split('?')[1] ?? ''),
        ip: clientAddress(
          {
            remote: request.socket.remoteAddress,
            forwardedFor: request.headers['x-forwarded-for']?.toString(),
          },
          proxies,
        ),
        userAgent: request.headers['user-agent'] ?? '',
        signal: watch.signal,
      };
      const outcome = await serve({ route, head, message: request.raw, services });
      if (outcome === undefined || reply.raw.destroyed) return reply.hijack();
      return send(reply, outcome, route);
    },
  });
}

function send(reply: FastifyReply, outcome: Answer, route: Route | undefined): FastifyReply {
  const { status, headers, body } = outcome.ok
    ? { ...outcome, headers: outcome.headers ?? {} }
    : renderError(outcome.error, route?.flat);
  if (body === undefined) return reply.code(status).headers(headers).send();
  return reply
    .code(status)
    .headers({ ...headers, 'content-type': 'application/json; charset=utf-8' })
    .send(JSON.stringify(body));
}

function sendUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  markTrace(request, reply);
  const error: DomainError = unknownEndpoint(request.method, request.raw.url ?? '');
  return send(reply, { ok: false, error }, undefined);
}

function markTrace(request: FastifyRequest, reply: FastifyReply): void {
  if (!reply.hasHeader(TRACE_HEADER))
    reply.header(TRACE_HEADER, traceOf(request.headers[TRACE_HEADER], newTrace));
}

function traceIn(reply: FastifyReply): string {
  return String(reply.getHeader(TRACE_HEADER));
}

function newTrace(): string {
  return randomBytes(8).toString('hex');
}
