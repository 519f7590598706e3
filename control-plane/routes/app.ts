import type { FastifyInstance } from 'fastify';
import { readJson } from '../../platform/http/read-body.ts';
import { refuse, refuseBody } from '../errors.ts';
import { clientBehindPanel } from '../http/behind-panel.ts';
import { refuseCrossSite } from '../http/cross-site.ts';
import { buildListener, type AnswerSeconds, type ListenerRoute } from '../http/host.ts';
import { sourceOf } from '../http/source.ts';
import { authenticate, refuseLacking, type SessionPorts } from '../sessions/authenticate.ts';
import type { ControlRoute, Services } from './route.ts';
import { routes } from './table.ts';

export interface ControlOptions {
  ports: SessionPorts;
  services: Services;
  /** Of the panel in this process. */
  panelSecret: string;
  seconds?: AnswerSeconds;
}

/** Maximum body: several times a relay with 1,000 event names and eight filters. */
const BODY_BYTES = 2 ** 20;

/**
 * The control plane. It authenticates every request by its session, also those of the panel.
 */
export function buildControl(options: ControlOptions): FastifyInstance {
  const { ports, seconds } = options;
  const served = routes.map((route) => listenerRoute(route, options));
  return buildListener({ name: 'control', routes: served, log: ports.log, seconds });
}

function listenerRoute(
  route: ControlRoute,
  { ports, services, panelSecret }: ControlOptions,
): ListenerRoute {
  return {
    methods: [route.method],
    path: route.path,
    async serve(request) {
      const { message, params } = request;
      // The panel forwards no Origin; a browser on the operator's own machine would send one.
      const refusal = refuseCrossSite(sourceOf(request), undefined);
      if (refusal) return refuse(refusal);
      const ip = clientBehindPanel(message, panelSecret);
      const { cookie } = message.headers;
      const session = await authenticate({ cookie, ip, now: request.now }, ports);
      if (!session.ok) return session;
      const { caller } = session;
      const lacking = refuseLacking(caller.account.role, route.permission);
      if (lacking) return { ok: false, error: lacking };
      if (!route.readsBody)
        return await route.handler({ caller, params, body: undefined }, services);
      const read = await readJson(message, BODY_BYTES);
      if (read.ok) return await route.handler({ caller, params, body: read.value }, services);
      return refuseBody(read.reason);
    },
  };
}
