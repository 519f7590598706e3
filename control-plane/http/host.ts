import type { FastifyInstance } from 'fastify';
import {
  buildHost,
  type HostRequest,
  type HostRoute,
  type RenderedAnswer,
} from '../../platform/http/host.ts';
import type { Log } from '../../platform/log.ts';
import { redactText } from '../../platform/redaction/redact-text.ts';
import { refuse, renderError, type Answer } from '../errors.ts';
import { StoreUnavailable } from '../store.ts';

export interface AnswerSeconds {
  observe(
    labels: Record<'listener' | 'route' | 'method' | 'status', string | number>,
    seconds: number,
  ): void;
}

export interface ListenerRoute extends Pick<HostRoute, 'methods' | 'path'> {
  /** Undefined: the client left before it was answered. */
  serve: (request: HostRequest) => Promise<Answer | RenderedAnswer | undefined>;
}

interface ListenerOptions {
  /** Label of the metric. */
  name: 'panel' | 'control';
  routes: readonly ListenerRoute[];
  log: Log;
  seconds: AnswerSeconds | undefined;
}

/** A listener of this service. Browsers may not cache its answers or guess their type. */
export function buildListener({ name, routes, log, seconds }: ListenerOptions): FastifyInstance {
  return buildHost({
    routes: routes.map((route) => ({
      ...route,
      async serve(request) {
        const answer = await route.serve(request);
        return answer && render(answer);
      },
    })),
    unknown(method, url) {
      const path = redactText(url.split('?')[0]?.slice(0, 200) ?? '');
      return render(refuse('unknown_endpoint', { message: `no such endpoint: ${method} ${path}` }));
    },
    failed: (error, request) => render(refuseFailed(error, request, log)),
    malformed: JSON.stringify(renderError({ code: 'malformed_request' }).body),
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    maxConnections: 1000,
    ...(seconds
      ? { observe: (labels, took) => seconds.observe({ listener: name, ...labels }, took) }
      : {}),
  });
}

function render(answer: Answer | RenderedAnswer): RenderedAnswer {
  return !('ok' in answer) || answer.ok ? answer : renderError(answer.error);
}

/** Errors of the clients contain the statement or command, so only their message is logged. */
function refuseFailed(
  error: unknown,
  request: { trace: string; url: string | undefined },
  log: Log,
): Answer {
  const facts = { code: 'request_failed', ...request };
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StoreUnavailable) {
    log.warn(facts, `PostgreSQL failed (${message}); the request was answered 503`);
    return refuse('unavailable');
  }
  log.error(
    { ...facts, stack: error instanceof Error ? error.stack : undefined },
    `a request failed unexpectedly: ${message}`,
  );
  return refuse('internal');
}
