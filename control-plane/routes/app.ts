import type { FastifyInstance } from 'fastify';
import { watchRequest } from '../../account-api/http/deadline.ts';
import { readJson } from '../../platform/http/read-body.ts';
import { serveAccountRoute, type AccountPorts } from '../account/route.ts';
import { sharedRoutes } from '../account/routes.ts';
import { refuseBody } from '../errors.ts';
import { buildListener, type AnswerSeconds, type ListenerRoute } from '../http/host.ts';
import { enter, type EnterOptions } from './enter.ts';
import type { ControlRoute, Services } from './route.ts';
import { routes } from './table.ts';

export interface ControlOptions extends EnterOptions {
  services: Services;
  account: AccountPorts;
  seconds?: AnswerSeconds;
}

/** Maximum body: several times a relay with 1,000 event names and eight filters. */
const BODY_BYTES = 2 ** 20;
/** Time of a handler and of its answer, ms. */
const TIMEOUT = { handler: 30_000, write: 33_000 };

/**
 * The control plane. It authenticates every request by its session, also those of the panel.
 */
export function buildControl(options: ControlOptions): FastifyInstance {
  const { ports, seconds, account } = options;
  const { features } = account.services;
  const served = [
    ...routes
      .filter(({ feature }) => feature === undefined || features[feature])
      .map((route) => listenerRoute(route, options)),
    ...sharedRoutes(features).map((route): ListenerRoute => ({
      methods: [route.method],
      path: route.path,
      async serve(request) {
        const entered = await enter(request, route.permission, options);
        if (!entered.ok) return entered;
        return await serveAccountRoute(route, { request, ...entered }, account);
      },
    })),
  ];
  return buildListener({ name: 'control', routes: served, log: ports.log, seconds });
}

function listenerRoute(route: ControlRoute, options: ControlOptions): ListenerRoute {
  return {
    methods: [route.method],
    path: route.path,
    async serve(request) {
      const entered = await enter(request, route.permission, options);
      if (!entered.ok) return entered;
      const { message, params, now, url, response, trace } = request;
      const read = route.readsBody ? await readJson(message, BODY_BYTES) : undefined;
      if (read?.ok === false) return refuseBody(read.reason);
      const { signal } = watchRequest({ response, ...TIMEOUT });
      const query = new URLSearchParams(url.split('?')[1] ?? '');
      return await route.handler(
        { caller: entered.caller, params, query, now, trace, signal, body: read?.value },
        options.services,
      );
    },
  };
}
