import type { FastifyInstance } from 'fastify';
import type { HostRequest } from '../../platform/http/host.ts';
import { readBytes, readJson } from '../../platform/http/read-body.ts';
import { TRACEPARENT_HEADER } from '../../platform/http/trace.ts';
import { addressOfRequest, parseTrustedProxies } from '../../platform/network/client-address.ts';
import { answer, refuse, refuseBody, type Answer } from '../errors.ts';
import { limitConnections } from '../http/connection-limit.ts';
import { clearSessionCookies, readSessionCookie } from '../http/cookies.ts';
import { refuseCrossSite } from '../http/cross-site.ts';
import { buildListener, type AnswerSeconds, type ListenerRoute } from '../http/host.ts';
import { sourceOf } from '../http/source.ts';
import { authenticate, messageOf, type SessionPorts } from '../sessions/authenticate.ts';
import type { ControlProxy } from './proxy.ts';
import { describeSession, signIn, type SignInPorts } from './sign-in.ts';

export interface PanelOptions {
  ports: SignInPorts & SessionPorts;
  proxy: ControlProxy;
  /** Of PANEL_URL; undefined: the Host of the request. */
  origin: string | undefined;
  /** TRUSTED_PROXIES */
  trustedProxies: readonly string[];
  seconds?: AnswerSeconds;
}

const PREFIX = '/api/proxy';
const BODY_BYTES = { session: 8 * 1024, proxy: 2 ** 20 };
const METHODS_WITH_BODY = ['POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The panel's listener: sign-in, the current session, sign-out, and the proxy to the control plane.
 */
export function buildPanel({
  ports,
  proxy,
  origin,
  trustedProxies,
  seconds,
}: PanelOptions): FastifyInstance {
  const proxies = parseTrustedProxies(trustedProxies);
  const addressOf = ({ message }: HostRequest) => addressOfRequest(message, proxies);
  const identify = (request: HostRequest) =>
    authenticate(
      { cookie: request.message.headers.cookie, ip: addressOf(request), now: request.now },
      ports,
    );
  /** Refuses requests of other sites before anything is looked up. */
  const sameSiteOnly = (serve: ListenerRoute['serve']): ListenerRoute['serve'] => {
    return (request) => {
      const refusal = refuseCrossSite(sourceOf(request), origin);
      return refusal ? Promise.resolve(refuse(refusal)) : serve(request);
    };
  };

  const routes: ListenerRoute[] = [
    {
      methods: ['POST'],
      path: '/api/session',
      serve: sameSiteOnly(async (request) => {
        const read = await readJson(request.message, BODY_BYTES.session);
        if (!read.ok) return refuseBody(read.reason);
        const { message, now, trace } = request;
        const ip = addressOf(request);
        const { cookie } = message.headers;
        return await signIn({ body: read.value, cookie, ip, now, trace }, ports);
      }),
    },
    {
      methods: ['GET'],
      path: '/api/session',
      serve: async (request) => {
        const session = await identify(request);
        if (!session.ok) return session;
        const accounts = await ports.members.accountsOf(session.caller.memberId);
        return answer(describeSession(session.caller, accounts));
      },
    },
    {
      methods: ['DELETE'],
      path: '/api/session',
      serve: sameSiteOnly((request) => signOut(request, ports)),
    },
    {
      methods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
      path: `${PREFIX}/v1/*`,
      serve: sameSiteOnly(async (request) => {
        const session = await identify(request);
        if (!session.ok) return session;
        const body = METHODS_WITH_BODY.includes(request.method)
          ? await readBytes(request.message, { limit: BODY_BYTES.proxy })
          : undefined;
        if (typeof body === 'string') return refuseBody(body);
        return await proxy.forward({
          method: request.method,
          path: request.url.slice(PREFIX.length),
          token: session.token,
          ip: addressOf(request),
          trace: request.trace,
          traceparent: request.message.headers[TRACEPARENT_HEADER],
          body,
        });
      }),
    },
  ];
  const listener = buildListener({ name: 'panel', routes, log: ports.log, seconds });
  limitConnections(listener.server, { proxies });
  return listener;
}

/**
 * DELETE /api/session: 204 also without a session, so that a browser is always signed out.
 */
async function signOut(
  request: HostRequest,
  { sessions, cookies, log }: SignInPorts & SessionPorts,
): Promise<Answer> {
  const token = readSessionCookie(request.message.headers.cookie, cookies);
  try {
    if (token !== undefined) await sessions.end(token);
  } catch (error) {
    log.warn(
      { code: 'sessions_unwritable', trace: request.trace },
      `a session could not be ended: Redis failed (${messageOf(error)})`,
    );
    return refuse('sessions_unavailable');
  }
  return answer(undefined, {
    status: 204,
    headers: { 'set-cookie': clearSessionCookies(cookies) },
  });
}
