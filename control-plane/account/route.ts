import type { Admission } from '../../account-api/http/admission.ts';
import { watchRequest } from '../../account-api/http/deadline.ts';
import type { KeyRoute } from '../../account-api/http/route.ts';
import type { OpenRequests } from '../../account-api/limits/open-requests.ts';
import { lockedError } from '../../account-api/lock/decide.ts';
import type { CheckLock } from '../../account-api/lock/soft-lock.ts';
import type { Queries } from '../../account-api/queries.ts';
import type { Services } from '../../account-api/services.ts';
import type { HostRequest, RenderedAnswer } from '../../platform/http/host.ts';
import { readBytes, readJson, type ReadJson } from '../../platform/http/read-body.ts';
import type { Log } from '../../platform/log.ts';
import { grants } from '../../platform/permissions.ts';
import { refuse, type Answer } from '../errors.ts';
import type { Caller } from '../sessions/authenticate.ts';
import { renderAccountAnswer } from './render.ts';

/** What the routes shared with the management host need. */
export interface AccountPorts {
  log: Log;
  services: Services;
  checkLock: CheckLock;
  openRequests: Pick<OpenRequests, 'enter' | 'leave'>;
  /** Queries that only the panel has. */
  queries: Pick<Queries, 'readFew' | 'readMany'>;
}

/** Time for the answer behind the handler's, ms. */
const WRITE_MARGIN = 3000;
const NO_BYTES = Buffer.alloc(0);

/**
 * Serves a route of the management host to a member: session and permission are checked already,
 * the soft lock holds here too, and the request budget of keys does not.
 */
export async function serveAccountRoute(
  route: KeyRoute,
  { request, caller, ip }: { request: HostRequest; caller: Caller; ip: string },
  ports: AccountPorts,
): Promise<Answer | RenderedAnswer | undefined> {
  const { response, message, now, trace, params, url } = request;
  const accountId = caller.account.id;
  if (response.destroyed || !ports.openRequests.enter(accountId))
    return refuse('too_many_requests');
  response.once('close', () => ports.openRequests.leave(accountId));
  const { timeout: handler } = route;
  const { signal } = watchRequest({ response, write: handler + WRITE_MARGIN, handler });
  const reason = route.lock ? await ports.checkLock(accountId, now) : undefined;
  if (reason) return renderAccountAnswer({ ok: false, error: lockedError(reason) });
  const sender = senderOf(caller);
  const admission: Admission = (await route.admit?.({ caller: sender, now }, ports.services)) ?? {};
  if (admission.error) return renderAccountAnswer({ ok: false, error: admission.error });
  const read = await readRouteBody(route, message);
  if (read?.ok === false) {
    if (read.reason === 'client_gone') return undefined;
    const error = route.malformed ?? { code: 'malformed_json' as const };
    return renderAccountAnswer({ ok: false, error });
  }
  const answered = await route.handler(
    {
      ...{ now, trace, params, ip, signal, caller: sender, headers: message.headers },
      query: new URLSearchParams(url.split('?')[1] ?? ''),
      userAgent: message.headers['user-agent'] ?? '',
      body: read?.value,
      rawBody: read?.bytes ?? NO_BYTES,
    },
    ports.services,
  );
  return renderAccountAnswer(answered);
}

/** The member as the shared handlers see who sends a request. */
function senderOf({ memberId, account: { id, role } }: Caller) {
  return { accountId: id, role, permissions: grants[role], actor: `member:${memberId}` };
}

async function readRouteBody(
  { bodyLimit: limit, bodyAs }: Pick<KeyRoute, 'bodyLimit' | 'bodyAs'>,
  message: HostRequest['message'],
): Promise<ReadJson | undefined> {
  if (limit === undefined) return undefined;
  if (bodyAs === undefined) return await readJson(message, limit);
  const bytes = await readBytes(message, { limit });
  if (typeof bytes !== 'string') return { ok: true, value: undefined, bytes };
  return { ok: false, reason: bytes === 'too_large' ? 'too_large' : 'client_gone' };
}
