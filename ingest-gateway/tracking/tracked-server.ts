import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  TrackedMessage,
  TrackingPurpose,
  TrackingTokens,
} from '../../events/channels/tracking-token.ts';
import type { Turns } from '../../platform/http/turns.ts';
import { traceIn } from '../../platform/http/trace.ts';
import type { Log } from '../../platform/log.ts';
import { addressOfRequest, type TrustedProxies } from '../../platform/network/client-address.ts';
import { networkOf } from '../../platform/network/network-of.ts';
import { discard } from '../http/discard.ts';
import { headerText } from '../http/header-text.ts';
import type { SelfServedRoute } from '../http/host.ts';
import { RequestsInProgress } from '../http/requests-in-progress.ts';
import type { Answered } from '../http/serve-events.ts';
import { sendText, type TextAnswer } from './text-answer.ts';

/** A request whose path holds a token. */
export interface TrackedRequest {
  /** Undefined: no key of this installation signed the token for the purpose of the route. */
  tracked: TrackedMessage | undefined;
  token: string;
  /** Its body is not read yet. */
  request: IncomingMessage;
  trace: string;
  /** ms since the epoch */
  receivedAt: number;
  ip: string;
  userAgent: string;
}

/** A route whose path ends with a token. */
export interface TrackedRoute {
  method: 'GET' | 'POST';
  /** `/e/u/:token`. */
  path: `${string}/:token` | `${string}/:local`;
  purpose: TrackingPurpose;
  /** The answer when nothing can be read or recorded. */
  unavailable: TextAnswer;
  /** Undefined when the client has left; an error is answered with `unavailable`. */
  answer: (request: TrackedRequest) => Promise<TextAnswer | undefined> | TextAnswer;
}

export interface TrackedServerOptions {
  tokens: Pick<TrackingTokens, 'read'>;
  /** Concurrent requests; an account, or a network without a valid token, may have a quarter. */
  maxRequests: number;
  turns: Turns;
  trusted: TrustedProxies;
  log: Log;
  now: () => number;
  isClosing: () => boolean;
  onAnswered: Answered;
}

/**
 * Serves the routes whose credential is a token in the path: /e/ pages and the bounce intake
 * (docs/channels.md, Pages of messages). The token names the account before anything is looked up.
 */
export class TrackedServer {
  readonly #options: TrackedServerOptions;
  readonly #inProgress: RequestsInProgress;
  #active = 0;

  constructor(options: TrackedServerOptions) {
    this.#options = options;
    this.#inProgress = new RequestsInProgress(Math.ceil(options.maxRequests / 4));
  }

  /** The routes as the host serves them; none has CORS headers (ingest 4.1). */
  routes(routes: readonly TrackedRoute[]): SelfServedRoute[] {
    return routes.map((route) => ({
      method: route.method,
      path: route.path,
      serve: ({ token, local }, exchange) => this.serve(route, token ?? local ?? '', exchange),
    }));
  }

  /** Never rejects. */
  async serve(
    route: TrackedRoute,
    token: string,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const { isClosing, onAnswered, turns } = this.#options;
    const trace = traceIn(request.headers);
    const began = performance.now();
    const answer = await this.#limited(route, { token, request, trace });
    if (answer === undefined) return;
    const took = performance.now() - began;
    const canContinue = request.complete || (await discard(request, turns));
    const afterwards = () => this.#afterwards(route, answer, trace);
    const isLast = isClosing() || !canContinue;
    sendText(response, { ...answer, afterwards }, { trace, isLast });
    onAnswered(route.path, answer.status, took);
  }

  /** The client has its answer: an error is ours alone. */
  #afterwards({ path }: TrackedRoute, { afterwards }: TextAnswer, trace: string): void {
    try {
      afterwards?.();
    } catch (error) {
      this.#options.log.error(
        { err: error, trace, path, code: 'unexpected' },
        'what follows an answer failed for an unexpected reason',
      );
    }
  }

  async #limited(
    route: TrackedRoute,
    { token, request, trace }: { token: string; request: IncomingMessage; trace: string },
  ): Promise<TextAnswer | undefined> {
    const { tokens, maxRequests, trusted, now, log } = this.#options;
    const tracked = tokens.read(route.purpose, token);
    const ip = addressOfRequest(request, trusted);
    const owner = tracked?.accountId ?? networkOf(ip);
    if (this.#active >= maxRequests || !this.#inProgress.begin(owner)) return route.unavailable;
    this.#active++;
    try {
      return await route.answer({
        ...{ tracked, token, request, trace, ip, receivedAt: now() },
        userAgent: headerText(request.headers['user-agent']),
      });
    } catch (error) {
      log.error(
        { err: error, trace, path: route.path, code: 'unexpected' },
        'a request failed for an unexpected reason; it was answered 503',
      );
      return route.unavailable;
    } finally {
      this.#active--;
      this.#inProgress.end(owner);
    }
  }
}
