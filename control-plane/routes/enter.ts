import type { HostRequest } from '../../platform/http/host.ts';
import type { Permission } from '../../platform/permissions.ts';
import type { Refusal } from '../errors.ts';
import { clientBehindPanel } from '../http/behind-panel.ts';
import { refuseCrossSite } from '../http/cross-site.ts';
import { sourceOf } from '../http/source.ts';
import {
  authenticate,
  refuseLacking,
  type Caller,
  type SessionPorts,
} from '../sessions/authenticate.ts';

export interface EnterOptions {
  ports: SessionPorts;
  /** Of the panel in this process. */
  panelSecret: string;
}

type Entered = { ok: true; caller: Caller; ip: string } | { ok: false; error: Refusal };

/** The guards of every route of the control plane: other sites, session, permission. */
export async function enter(
  request: HostRequest,
  permission: Permission | undefined,
  { ports, panelSecret }: EnterOptions,
): Promise<Entered> {
  // The panel forwards no Origin; a browser on the operator's own machine would send one.
  const refusal = refuseCrossSite(sourceOf(request), undefined);
  if (refusal) return { ok: false, error: { code: refusal } };
  const ip = clientBehindPanel(request.message, panelSecret);
  const { cookie } = request.message.headers;
  const session = await authenticate({ cookie, ip, now: request.now }, ports);
  if (!session.ok) return session;
  const { caller } = session;
  const lacking = permission && refuseLacking(caller.account.role, permission);
  return lacking ? { ok: false, error: lacking } : { ok: true, caller, ip };
}
