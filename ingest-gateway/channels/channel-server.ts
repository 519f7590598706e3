import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '../../events/json.ts';
import { MalformedEnvelope } from '../../events/validate-event.ts';
import type { Principal } from '../../ingest/account.ts';
import type { BodyDecider } from '../../ingest/body-decider.ts';
import { traceIn } from '../../platform/http/trace.ts';
import type { Log } from '../../platform/log.ts';
import { addressOfRequest, type TrustedProxies } from '../../platform/network/client-address.ts';
import {
  authenticate,
  isAnswer,
  readBodyOf,
  type AuthenticationOptions,
} from '../http/authenticated-body.ts';
import { discard } from '../http/discard.ts';
import { headerText } from '../http/header-text.ts';
import type { SelfServedRoute } from '../http/host.ts';
import { renderFailure, type Answer } from '../http/render.ts';
import { RequestsInProgress } from '../http/requests-in-progress.ts';
import { send } from '../http/send.ts';
import type { Answered, ArrivingRequest } from '../http/serve-events.ts';

/** A request of a channel route, its write key verified. */
export interface ChannelRequest {
  principal: Principal;
  /** The members of the body that the route names; those of a GET are empty. */
  body: JsonObject;
  /** What follows the question mark. */
  query: string;
  trace: string;
  /** ms since the epoch */
  receivedAt: number;
  ip: string;
  userAgent: string;
}

/** A route for devices, subscriptions, chats, the inbox or on-site campaigns (ingest 4.2). */
export interface ChannelRoute {
  method: 'GET' | 'POST';
  path: string;
  /** The members of the body that it reads. */
  fields: readonly string[];
  /** May throw MalformedEnvelope; another error is answered 503. */
  answer: (request: ChannelRequest) => Answer | Promise<Answer>;
  /** The answer to a body that is not a JSON object; by default that of the event routes. */
  malformed?: Answer;
}

export interface ChannelServerOptions extends AuthenticationOptions {
  decider: Pick<BodyDecider, 'read'>;
  /** Concurrent requests; an account may have a quarter of them. */
  maxRequests: number;
  trusted: TrustedProxies;
  log: Log;
  now: () => number;
  isClosing: () => boolean;
  onAnswered: Answered;
}

const UNAVAILABLE = renderFailure({ code: 'unavailable' });
const MALFORMED = renderFailure({ code: 'malformed_json' });

/** Serves the write-key routes that accept no events. Our faults are 503 (ARCHITECTURE.md, G4). */
export class ChannelServer {
  readonly #options: ChannelServerOptions;
  readonly #inProgress: RequestsInProgress;
  #active = 0;

  constructor(options: ChannelServerOptions) {
    this.#options = options;
    this.#inProgress = new RequestsInProgress(Math.ceil(options.maxRequests / 4));
  }

  /** The routes as the host serves them. */
  routes(routes: readonly ChannelRoute[]): SelfServedRoute[] {
    return routes.map((route) => ({
      method: route.method,
      path: route.path,
      cors: true,
      serve: (_params, exchange) => this.serve(route, exchange),
    }));
  }

  /** Never rejects. */
  async serve(
    route: ChannelRoute,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const { log, maxRequests, isClosing, onAnswered, budget } = this.#options;
    const trace = traceIn(request.headers);
    const arrival = { at: performance.now() };
    this.#active++;
    let answer: Answer | undefined;
    try {
      answer =
        this.#active > maxRequests
          ? UNAVAILABLE
          : await this.#answer(route, { request, trace, arrival });
    } catch (error) {
      log.error(
        { err: error, trace, path: route.path, code: 'unexpected' },
        'a request failed for an unexpected reason; it was answered 503',
      );
      answer = UNAVAILABLE;
    }
    this.#active--;
    if (answer === undefined) return;
    const took = performance.now() - arrival.at;
    const canContinue = request.complete || (await discard(request, budget.turns));
    send(response, answer, { trace, hasCors: true, isLast: isClosing() || !canContinue });
    onAnswered(route.path, answer.status, took);
  }

  /** Undefined when the client has left. */
  async #answer(
    route: ChannelRoute,
    { request, trace, arrival }: ArrivingRequest,
  ): Promise<Answer | undefined> {
    const query = (request.url ?? '').split('?').slice(1).join('?');
    const principal = await authenticate(request, query, this.#options.keys);
    if (isAnswer(principal)) return principal;
    const { accountId } = principal;
    if (!this.#inProgress.begin(accountId)) return UNAVAILABLE;
    try {
      return await this.#read(route, { request, principal, query, trace, arrival });
    } finally {
      this.#inProgress.end(accountId);
    }
  }

  async #read(
    route: ChannelRoute,
    {
      request,
      principal,
      query,
      trace,
      arrival,
    }: ArrivingRequest & { principal: Principal; query: string },
  ): Promise<Answer | undefined> {
    const { budget, decider, trusted, now } = this.#options;
    const found = {
      ...{ principal, query, trace },
      ip: addressOfRequest(request, trusted),
      userAgent: headerText(request.headers['user-agent']),
    };
    if (route.method === 'GET') return route.answer({ ...found, body: {}, receivedAt: now() });
    const waited = performance.now() - arrival.at;
    const bytes = await readBodyOf(request, principal, this.#options);
    // The wait for the key counts, the client's upload does not.
    arrival.at = performance.now() - waited;
    if (bytes === undefined || isAnswer(bytes)) return bytes;
    const { accountId } = principal;
    try {
      const body = await decider.read({ body: bytes, names: route.fields }, accountId);
      if (body === undefined) return UNAVAILABLE;
      if (body === 'malformed') return route.malformed ?? MALFORMED;
      return await route.answer({ ...found, body, receivedAt: now() });
    } catch (error) {
      if (error instanceof MalformedEnvelope) return route.malformed ?? MALFORMED;
      throw error;
    } finally {
      budget.release(accountId, bytes.length);
    }
  }
}
