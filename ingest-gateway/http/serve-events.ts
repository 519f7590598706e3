import type { IncomingMessage, ServerResponse } from 'node:http';
import { TRACEPARENT_HEADER, traceIn } from '../../platform/http/trace.ts';
import type { Log } from '../../platform/log.ts';
import { tracing, type Span } from '../../platform/tracing/spans.ts';
import { clientAddress, type TrustedProxies } from '../../platform/network/client-address.ts';
import type { IngestService } from '../../ingest/accept.ts';
import type { Principal } from '../../ingest/account.ts';
import type { SdkRequest } from '../../ingest/request.ts';
import type { IngestResult } from '../../ingest/result.ts';
import {
  authenticate,
  isAnswer,
  readBodyOf,
  type AuthenticationOptions,
} from './authenticated-body.ts';
import { discard } from './discard.ts';
import { headerText } from './header-text.ts';
import { renderFailure, renderResult, type Answer } from './render.ts';
import type { EventRoute } from './routes.ts';
import { send } from './send.ts';

/** Counts an answer; the time is from the last byte of the request on. */
export type Answered = (path: string, status: number, milliseconds: number) => void;

export interface EventServerOptions extends AuthenticationOptions {
  service: Pick<IngestService, 'accept'>;
  /** Concurrent requests. */
  maxRequests: number;
  trusted: TrustedProxies;
  log: Log;
  now: () => number;
  /** Of `serve`; `submit` leaves that to its caller. */
  onAnswered: Answered;
}

export interface ArrivingRequest {
  request: IncomingMessage;
  trace: string;
  /** Where its time counts from; later once its body is there. */
  arrival: { at: number };
}

type HeadField = 'userAgent' | 'origin' | 'forwardedFor' | 'traceparent';

/** A complete request, its write key verified. */
export interface EventRequest {
  route: EventRoute;
  principal: Principal;
  /** As latin1; undefined when the header is absent. */
  head: Readonly<Record<HeadField, string | undefined>>;
  body: Buffer;
  trace: string;
  /** Address of the other end of the connection. */
  remote: string | undefined;
}

interface AcceptedRequest extends Pick<EventRequest, 'route' | 'principal' | 'trace'> {
  span: Span | undefined;
}

const UNAVAILABLE = renderFailure({ code: 'unavailable' });
const NOT_ACCEPTED = Promise.resolve(UNAVAILABLE);

/** Serves the write-key routes. Our faults are 503, never 4xx or 500 (ARCHITECTURE.md, G4). */
export class EventServer {
  readonly #options: EventServerOptions;
  /** Requests in progress. */
  active = 0;
  /** The process is stopping: each answer is the last on its connection. */
  isClosing = false;

  constructor(options: EventServerOptions) {
    this.#options = options;
  }

  /** Accepts the events of a request from the fast path. Never rejects. */
  submit(request: EventRequest): Promise<Answer> {
    const { route, principal, trace } = request;
    if (this.active >= this.#options.maxRequests) return NOT_ACCEPTED;
    this.active++;
    try {
      const sdkRequest = this.#sdkRequest(request);
      const accepting = this.#options.service.accept(sdkRequest);
      return this.#accepted(accepting, { route, principal, trace, span: sdkRequest.span });
    } catch (error) {
      this.#reportUnexpected(error, route, trace);
      this.active--;
      return NOT_ACCEPTED;
    }
  }

  /** The answer, once the events are durable: what waits here does not refer to the body. */
  #accepted(accepting: Promise<IngestResult>, request: AcceptedRequest): Promise<Answer> {
    const { route, trace } = request;
    return accepting.then(
      (result) => {
        let answer = UNAVAILABLE;
        try {
          answer = renderResult(route.shape, result);
          if (request.span) endSpan(request.span, { ...request, path: route.path }, answer);
        } catch (error) {
          // Events that are durable are answered so, also when their span cannot be ended.
          this.#reportUnexpected(error, route, trace);
        }
        this.active--;
        return answer;
      },
      (error: unknown) => {
        this.#reportUnexpected(error, route, trace);
        this.active--;
        return UNAVAILABLE;
      },
    );
  }

  /**
   * Serves a request from node:http. Never rejects.
   * @param query what follows the question mark; empty when nothing does
   */
  async serve(
    route: EventRoute,
    query: string,
    exchange: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const { request, response } = exchange;
    const trace = traceIn(request.headers);
    this.active++;
    const arrival = { at: performance.now() };
    let answer: Answer | undefined;
    try {
      answer =
        this.active > this.#options.maxRequests
          ? UNAVAILABLE
          : await this.#answer(route, query, { request, trace, arrival });
    } catch (error) {
      this.#reportUnexpected(error, route, trace);
      answer = UNAVAILABLE;
    }
    this.active--;
    if (answer === undefined) return;
    const took = performance.now() - arrival.at;
    const canContinue = request.complete || (await discard(request, this.#options.budget.turns));
    send(response, answer, { trace, hasCors: true, isLast: this.isClosing || !canContinue });
    this.#options.onAnswered(route.path, answer.status, took);
  }

  /** Undefined when the client has left. */
  async #answer(
    route: EventRoute,
    query: string,
    { request, trace, arrival }: ArrivingRequest,
  ): Promise<Answer | undefined> {
    const { keys, budget } = this.#options;
    const principal = await authenticate(request, query, keys);
    if (isAnswer(principal)) return principal;
    const waited = performance.now() - arrival.at;
    const body = await readBodyOf(request, principal, this.#options);
    // The wait for the key counts, the client's upload does not.
    arrival.at = performance.now() - waited;
    if (body === undefined || isAnswer(body)) return body;
    try {
      const { headers, socket } = request;
      const forwarded = headers['x-forwarded-for'];
      const head = {
        userAgent: headers['user-agent'],
        origin: headers.origin,
        forwardedFor: Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
        traceparent: headerOnce(headers[TRACEPARENT_HEADER]),
      };
      const remote = socket.remoteAddress;
      const sdkRequest = this.#sdkRequest({ route, principal, head, body, trace, remote });
      const answer = renderResult(route.shape, await this.#options.service.accept(sdkRequest));
      if (sdkRequest.span) endSpan(sdkRequest.span, sdkRequest, answer);
      return answer;
    } finally {
      budget.release(principal.accountId, body.length);
    }
  }

  #sdkRequest({ route, principal, head, body, trace, remote }: EventRequest): SdkRequest {
    const { path, shape, type } = route;
    const addresses = { forwardedFor: head.forwardedFor, remote };
    const request: SdkRequest = {
      principal,
      source: 'sdk',
      path,
      shape,
      type,
      body,
      trace,
      receivedAt: this.#options.now(),
      ip: clientAddress(addresses, this.#options.trusted),
      userAgent: headerText(head.userAgent),
      origin: headerText(head.origin),
    };
    const span = tracing()?.request(`POST ${path}`, { trace, traceparent: head.traceparent });
    if (span) request.span = span;
    return request;
  }

  #reportUnexpected(error: unknown, route: EventRoute, trace: string): void {
    this.#options.log.error(
      { err: error, trace, path: route.path, code: 'unexpected' },
      'a request failed for an unexpected reason; it was answered 503',
    );
  }
}

/** A header that was sent once; sent twice, it says nothing. */
function headerOnce(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function endSpan(
  span: Span,
  { path, principal }: Pick<SdkRequest, 'path' | 'principal'>,
  { status }: Answer,
): void {
  const attributes = {
    'http.request.method': 'POST',
    'http.route': path,
    'http.response.status_code': status,
    'ravand.account_id': principal.accountId,
  };
  span.end(attributes, status >= 500 ? 'not all of it is durable' : undefined);
}
