import { AsyncLocalStorage } from 'node:async_hooks';
import { ended } from './ended.ts';
import { tracing, type Attributes, type Span, type SpanKind } from './spans.ts';

interface TracedRequest {
  span: Span;
  /** Once it is answered, what it began, such as a timer or a reconnection, is no part of it. */
  isAnswered: boolean;
}

const requests = new AsyncLocalStorage<TracedRequest>();

/** The span of the request that is being served; undefined while traces are off. */
export function currentSpan(): Span | undefined {
  if (!tracing()) return undefined;
  const request = requests.getStore();
  return request?.isAnswered === false ? request.span : undefined;
}

export interface RequestToTrace {
  method: string;
  /** The pattern of its route: a path may hold a token or an id. */
  route: string;
  /** Its X-Service-Trace. */
  trace: string;
  /** As the client sent it. */
  traceparent: string | string[] | undefined;
}

/** Serves a request in a span of its own, when it is sampled. */
export async function inRequestSpan<T>(
  { method, route, trace, traceparent }: RequestToTrace,
  serve: () => Promise<T>,
  statusOf: (served: T) => number | undefined,
): Promise<T> {
  const span = tracing()?.request(`${method} ${route}`, {
    trace,
    // Sent twice, it says nothing.
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  });
  if (!span) return serve();
  const request = { span, isAnswered: false };
  let attributes: Attributes = { 'http.request.method': method, 'http.route': route };
  let problem: string | undefined = 'it failed for an unexpected reason';
  try {
    const served = await requests.run(request, serve);
    const status = statusOf(served);
    if (status !== undefined) attributes = { ...attributes, 'http.response.status_code': status };
    problem = status !== undefined && status >= 500 ? 'it was answered with our fault' : undefined;
    return served;
  } finally {
    request.isAnswered = true;
    span.end(attributes, problem);
  }
}

/** A step of the request that is being served, when that is traced. */
export function inStep<T>(
  { name, kind, attributes }: { name: string; kind: SpanKind; attributes: Attributes },
  work: () => Promise<T>,
): Promise<T> {
  const parent = currentSpan();
  return parent ? ended([parent.child(name, kind, attributes)], work) : work();
}
