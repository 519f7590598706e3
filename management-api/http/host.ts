import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { buildHost, type HostRequest, type HostRoute } from '../../platform/http/host.ts';
import { readBytes, readJson, type ReadJson } from '../../platform/http/read-body.ts';
import {
  addressOfRequest,
  parseTrustedProxies,
  type TrustedProxies,
} from '../../platform/network/client-address.ts';
import { reject, type Answer, type DomainError } from '../../account-api/errors/domain-error.ts';
import { renderError } from '../../account-api/errors/render.ts';
import type { Services } from '../services.ts';
import type { KeyCaller } from '../auth/decide.ts';
import { watchRequest } from '../../account-api/http/deadline.ts';
import { passGuards } from './guards.ts';
import { measureAnswers } from './metrics.ts';
import type { PublicRequest } from '../../account-api/http/request.ts';
import type { Admission } from '../../account-api/http/admission.ts';
import type { ManagementRoute } from '../route.ts';
import { unknownEndpoint } from './unknown-endpoint.ts';

/** Time for a whole answer, ms (management 8.4). */
const WRITE_TIMEOUT = 30_000;
const NO_BYTES = Buffer.alloc(0);

export interface ManagementOptions {
  routes: readonly ManagementRoute[];
  services: Services;
  /** TRUSTED_PROXIES: addresses and ranges whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  /** Where answers are counted. */
  registry?: Registry;
}

/**
 * The management host: the served rows of the route table, and 404 for everything else, wrong
 * methods, OPTIONS and HEAD included (management 1.4).
 */
export function buildManagementHost(options: ManagementOptions): FastifyInstance {
  const { routes, services, trustedProxies, registry } = options;
  const proxies = parseTrustedProxies(trustedProxies);
  return buildHost({
    routes: routes.map((route) => hostRoute(route, { services, proxies })),
    unknown: renderUnknown,
    failed(error, { trace, url }) {
      services.log.error(
        { err: error, code: 'request_failed', trace, url },
        'a request failed unexpectedly',
      );
      return renderError({ code: 'internal' });
    },
    malformed: JSON.stringify(renderError({ code: 'malformed_request' }).body),
    maxParamLength: 16_384,
    ...(registry ? { observe: measureAnswers(registry) } : {}),
  });
}

function hostRoute(
  route: ManagementRoute,
  { services, proxies }: { services: Services; proxies: TrustedProxies },
): HostRoute {
  return {
    methods: [route.method],
    path: route.path,
    async serve(request) {
      const { message, response, method, url, params, now, trace } = request;
      if (Object.values(params).includes('')) return renderUnknown(method, url);
      const { signal } = watchRequest({ response, write: WRITE_TIMEOUT, handler: route.timeout });
      const head = {
        ...{ now, trace, params, signal },
        query: new URLSearchParams(url.split('?')[1] ?? ''),
        headers: message.headers,
        ip: addressOfRequest(message, proxies),
        userAgent: message.headers['user-agent'] ?? '',
      };
      const answer = await serve(route, { head, message, response, services });
      if (answer?.ok !== false) return answer;
      const rendered = renderError(answer.error, route.flat);
      return { ...rendered, headers: { ...rendered.headers, ...answer.headers } };
    },
  };
}

interface Served {
  head: Omit<PublicRequest, 'body' | 'rawBody'>;
  message: HostRequest['message'];
  response: HostRequest['response'];
  services: Services;
}

/**
 * Runs one request through a route: guards, body, handler. Undefined: the client left before
 * its body was read.
 */
async function serve(
  route: ManagementRoute,
  { head, message, response, services }: Served,
): Promise<Answer | undefined> {
  const guarded =
    route.auth === 'none'
      ? undefined
      : await passGuards({ route, headers: message.headers, ip: head.ip, now: head.now }, services);
  if (guarded && !guarded.ok) return guarded;
  if (guarded && !enterAccount(guarded.caller.accountId, { response, services }))
    return reject('budget_exhausted', { message: TOO_MANY_REQUESTS });
  const admission = await admit(route, { head, guarded, services });
  if (admission.error) return { ok: false, error: admission.error, ...headersOf(admission) };
  const answer = await answerOf(route, { head, message, guarded, services });
  return answer && { ...answer, headers: { ...answer.headers, ...admission.headers } };
}

interface Guarded extends Omit<Served, 'response'> {
  /** Undefined on a route without a key. */
  guarded: { caller: KeyCaller } | undefined;
}

async function admit(
  route: ManagementRoute,
  { head: { now }, guarded, services }: Omit<Guarded, 'message'>,
): Promise<Admission> {
  if (route.auth === 'none' || !guarded) return {};
  return (await route.admit?.({ caller: guarded.caller, now }, services)) ?? {};
}

function headersOf({ headers }: Admission): Pick<Admission, 'headers'> {
  return headers ? { headers } : {};
}

async function answerOf(
  route: ManagementRoute,
  { head, message, guarded, services }: Guarded,
): Promise<Answer | undefined> {
  let body: unknown;
  let rawBody: Buffer = NO_BYTES;
  if (route.bodyLimit !== undefined) {
    const read = await readRouteBody(message, { bodyAs: route.bodyAs, limit: route.bodyLimit });
    if (!read.ok)
      return read.reason === 'client_gone'
        ? undefined
        : { ok: false, error: route.malformed ?? { code: 'malformed_json' } };
    body = read.value;
    rawBody = read.bytes;
  }
  if (route.auth === 'none') return await route.handler({ ...head, body, rawBody }, services);
  if (!guarded) throw new Error('a route with a key was entered without guards');
  return await route.handler({ ...head, body, rawBody, caller: guarded.caller }, services);
}

async function readRouteBody(
  message: HostRequest['message'],
  { bodyAs, limit }: { bodyAs: ManagementRoute['bodyAs']; limit: number },
): Promise<ReadJson> {
  if (bodyAs === undefined) return await readJson(message, limit);
  const bytes = await readBytes(message, { limit });
  if (typeof bytes !== 'string') return { ok: true, value: undefined, bytes };
  return { ok: false, reason: bytes === 'too_large' ? 'too_large' : 'client_gone' };
}

const TOO_MANY_REQUESTS = 'this account has too many requests in progress; wait for their answers';

/** False when the account has as many requests in progress as it may. */
function enterAccount(
  accountId: number,
  { response, services: { openRequests } }: Pick<Served, 'response' | 'services'>,
): boolean {
  if (response.destroyed || !openRequests.enter(accountId)) return false;
  response.once('close', () => openRequests.leave(accountId));
  return true;
}

function renderUnknown(method: string, url: string): ReturnType<typeof renderError> {
  const error: DomainError = unknownEndpoint(method, url);
  return renderError(error);
}
