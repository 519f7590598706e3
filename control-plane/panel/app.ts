import type { FastifyInstance } from 'fastify';
import type { HostRequest, RenderedAnswer } from '../../platform/http/host.ts';
import { readBytes, readJson } from '../../platform/http/read-body.ts';
import { TRACEPARENT_HEADER } from '../../platform/http/trace.ts';
import { addressOfRequest, parseTrustedProxies } from '../../platform/network/client-address.ts';
import { answer, refuse, refuseBody, type Answer } from '../errors.ts';
import { limitConnections } from '../http/connection-limit.ts';
import { clearSessionCookies, readSessionCookie } from '../http/cookies.ts';
import { refuseCrossSite } from '../http/cross-site.ts';
import { buildListener, type AnswerSeconds, type ListenerRoute } from '../http/host.ts';
import { sourceOf } from '../http/source.ts';
import {
  authenticate,
  messageOf,
  type SessionPorts,
  type SessionResult,
} from '../sessions/authenticate.ts';
import { StoreUnavailable } from '../store.ts';
import { answerDocument } from './document.ts';
import type { PanelFiles } from './files.ts';
import { answerMailPreview } from './mail-preview.ts';
import {
  changePassword,
  endSession,
  listSessions,
  switchAccount,
  type OwnPorts,
  type OwnRequest,
} from './own-session.ts';
import type { ControlProxy } from './proxy.ts';
import { signIn } from './sign-in.ts';
import { describeSession } from './start-session.ts';
import { visitorOf } from './visitor.ts';

export interface PanelOptions {
  ports: OwnPorts & SessionPorts;
  proxy: ControlProxy;
  /** The built panel. */
  files: PanelFiles;
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
 * The panel's listener: its files and documents, sign-in, the current session, and the proxy to the
 * control plane.
 */
export function buildPanel(options: PanelOptions): FastifyInstance {
  const { ports, proxy, origin, trustedProxies, seconds } = options;
  const proxies = parseTrustedProxies(trustedProxies);
  const addressOf = ({ message }: HostRequest) => addressOfRequest(message, proxies);
  const identify = (request: HostRequest) =>
    authenticate(
      { cookie: request.message.headers.cookie, ip: addressOf(request), now: request.now },
      ports,
    );
  const attemptOf = (request: HostRequest) => ({
    cookie: request.message.headers.cookie,
    ip: addressOf(request),
    agent: request.message.headers['user-agent'],
    now: request.now,
  });
  /** Refuses requests of other sites before anything is looked up. */
  const sameSiteOnly = (serve: ListenerRoute['serve']): ListenerRoute['serve'] => {
    return (request) => {
      const refusal = refuseCrossSite(sourceOf(request), origin);
      return refusal ? Promise.resolve(refuse(refusal)) : serve(request);
    };
  };
  /** A route about the member's own sessions. */
  const own = (work: (request: OwnRequest, params: HostRequest['params']) => Promise<Answer>) =>
    sameSiteOnly(async (request) => {
      const session = await identify(request);
      if (!session.ok) return session;
      const read = ['POST', 'PUT'].includes(request.method)
        ? await readJson(request.message, BODY_BYTES.session)
        : undefined;
      if (read?.ok === false) return refuseBody(read.reason);
      const { caller, token } = session;
      const asked = { email: caller.email, session: session.session, token };
      return await unlessRedisFails(ports, request, () =>
        work({ ...asked, attempt: attemptOf(request), body: read?.value }, request.params),
      );
    });

  const routes: ListenerRoute[] = [
    {
      methods: ['POST'],
      path: '/api/session',
      serve: sameSiteOnly(async (request) => {
        const read = await readJson(request.message, BODY_BYTES.session);
        if (!read.ok) return refuseBody(read.reason);
        const { trace } = request;
        return await signIn({ ...attemptOf(request), body: read.value, trace }, ports);
      }),
    },
    {
      methods: ['GET'],
      path: '/api/session',
      serve: async (request) => {
        const session = await identify(request);
        if (!session.ok) return isAskedFor(request, session) ? answer({ member: null }) : session;
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
      methods: ['POST'],
      path: '/api/session/account',
      serve: own((request) => switchAccount(request, ports)),
    },
    {
      methods: ['POST'],
      path: '/api/session/password',
      serve: own((request) => changePassword(request, ports)),
    },
    {
      methods: ['GET'],
      path: '/api/sessions',
      serve: own((request) => listSessions(request, ports)),
    },
    {
      methods: ['DELETE'],
      path: '/api/sessions/{id}',
      serve: own((request, { id = '' }) => endSession({ ...request, id }, ports)),
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
          signal: closedBeforeAnswer(request),
        });
      }),
    },
    { methods: ['GET'], path: '/mail-preview', serve: () => Promise.resolve(answerMailPreview()) },
    {
      methods: ['GET'],
      path: '/*',
      serve: (request) => servePage(request, { identify, ...options }),
    },
  ];
  const listener = buildListener({ name: 'panel', routes, log: ports.log, seconds });
  limitConnections(listener.server, { proxies });
  return listener;
}

/**
 * A file of the panel, or for a browser the document of a page. Anything else is no endpoint, also
 * everything below /api.
 */
async function servePage(
  { message, method, url, ...request }: HostRequest,
  {
    files,
    identify,
    ports: { members },
  }: Pick<PanelOptions, 'files' | 'ports'> & {
    identify: (request: HostRequest) => Promise<SessionResult>;
  },
): Promise<Answer | RenderedAnswer> {
  const path = url.split('?')[0] ?? '';
  const file = files.answer(path, message.headers);
  if (file) return file;
  const wantsDocument = /\btext\/html\b/.test(message.headers.accept ?? '');
  if (!wantsDocument || path === '/api' || path.startsWith('/api/'))
    return refuse('unknown_endpoint', {
      message: `no such endpoint: ${method} ${path.slice(0, 200)}`,
    });
  const session = () => identify({ message, method, url, ...request });
  const visitor = await visitorOf(session, members);
  const { cookie, 'accept-encoding': accepted } = message.headers;
  const asked = { path, cookie, acceptEncoding: [accepted ?? ''].flat().join(), visitor };
  return await answerDocument(asked, files.documents);
}

/** Whether a page asks who is signed in, to whom it is no error that nobody is. */
function isAskedFor({ message }: HostRequest, session: SessionResult): boolean {
  const isNobody = !session.ok && session.error.code === 'unauthenticated';
  return isNobody && message.headers['accept-session'] === 'optional';
}

/** Aborts when the client leaves before it is answered: what runs for it is cancelled. */
function closedBeforeAnswer({ response }: HostRequest): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort(new Error('the client left'));
  });
  return controller.signal;
}

/** A failure of Redis is a 503; PostgreSQL's is rendered by the listener. */
async function unlessRedisFails(
  { log }: Pick<SessionPorts, 'log'>,
  { trace }: HostRequest,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    log.warn(
      { code: 'sessions_unreadable', trace },
      `sessions cannot be read or changed: Redis failed (${messageOf(error)})`,
    );
    return refuse('sessions_unavailable');
  }
}

/**
 * DELETE /api/session: 204 also without a session, so that a browser is always signed out.
 */
async function signOut(
  request: HostRequest,
  { sessions, cookies, log }: OwnPorts & SessionPorts,
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
