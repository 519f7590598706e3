import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../platform/log.ts';
import { presentedKey } from '../auth/presented-key.ts';
import type { Verification, WriteKeys } from '../auth/write-keys.ts';
import type { Principal } from '../../ingest/account.ts';
import type { FastPathOptions, WholeRequest } from '../fast-path/lane.ts';
import {
  clientAddress,
  type ReportedAddresses,
  type TrustedProxies,
} from '../../platform/network/client-address.ts';
import { discard } from './discard.ts';
import { readBody, type BodyBudget, type BodyFailure } from './body.ts';
import { renderFailure, type Answer } from './render.ts';
import type { EventRoute } from './routes.ts';
import { send } from './send.ts';
import { traceOf } from '../../platform/http/trace.ts';

export interface ServeOptions {
  keys: Pick<WriteKeys, 'verify'>;
  maxBodyBytes: number;
  budget: BodyBudget;
  /** Requests that may be under way at once. */
  maxRequests: number;
  trusted: TrustedProxies;
  log: Log;
  now: () => number;
  onAnswered: (path: string, status: number) => void;
}

interface Handled {
  route: EventRoute;
  principal: Principal;
  facts: ReportedAddresses & { userAgent: string | undefined; origin: string | undefined };
  body: Buffer;
  trace: string;
}

const MISSING = renderFailure({ code: 'missing_write_key' });
const INVALID = renderFailure({ code: 'invalid_write_key' });
const UNVERIFIED = renderFailure({ code: 'key_unverified' });
const UNAVAILABLE = renderFailure({ code: 'unavailable' });

const WITHOUT_BODY: Record<Exclude<BodyFailure, 'client_gone'>, Answer> = {
  too_large: renderFailure({ code: 'body_too_large' }),
  undecodable: renderFailure({ code: 'malformed_json' }),
  overloaded: UNAVAILABLE,
};

/**
 * Serves the write-key routes: verifies the key, reads the body, calls the handler, answers. What
 * fails on our side is a 503, never a 4xx or a 500.
 */
export class EventServer {
  readonly #options: ServeOptions;
  /** Requests under way. */
  active = 0;
  /** The process is stopping: each answer is the last on its connection. */
  isClosing = false;

  constructor(options: ServeOptions) {
    this.#options = options;
  }

  /** What a lane needs of this server to take requests before node:http. */
  forLane(): Omit<FastPathOptions, 'routes' | 'limits'> {
    const { keys, budget, maxBodyBytes, now } = this.#options;
    return {
      ...{ keys, budget, maxBodyBytes, now },
      submit: (request) => this.submit(request),
      isClosing: () => this.isClosing,
    };
  }

  /** Never rejects. @param query what follows the question mark; empty when nothing does */
  async serve(
    route: EventRoute,
    query: string,
    exchange: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const { request, response } = exchange;
    const trace = traceOf(request.headers['x-service-trace']);
    this.active++;
    let answer: Answer | undefined;
    try {
      answer =
        this.active > this.#options.maxRequests
          ? UNAVAILABLE
          : await this.#answer(route, query, { request, trace });
    } catch (error) {
      this.#reportUnexpected(error, route, trace);
      answer = UNAVAILABLE;
    }
    this.active--;
    if (answer === undefined) return;
    const canGoOn = request.complete || (await discard(request));
    send(response, answer, { trace, hasCors: true, isLast: this.isClosing || !canGoOn });
    this.#options.onAnswered(route.path, answer.status);
  }

  /** Undefined when the client has gone. */
  async #answer(
    route: EventRoute,
    query: string,
    { request, trace }: { request: IncomingMessage; trace: string },
  ): Promise<Answer | undefined> {
    const key = presentedKey(request.headers, query);
    if (key === undefined) return MISSING;
    const known = this.#options.keys.verify(key);
    const principal: Verification = known instanceof Promise ? await known : known;
    if (principal === 'invalid') return INVALID;
    if (principal === 'unverified') return UNVERIFIED;
    const { budget, maxBodyBytes: limit } = this.#options;
    const body = await readBody(request, { limit, budget });
    if (typeof body === 'string') return body === 'client_gone' ? undefined : WITHOUT_BODY[body];
    try {
      const { headers, socket } = request;
      const forwarded = headers['x-forwarded-for'];
      const facts = {
        userAgent: headers['user-agent'],
        origin: headers.origin,
        forwardedFor: Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
        remote: socket.remoteAddress,
      };
      return await this.#handle({ route, principal, facts, body, trace });
    } finally {
      budget.release(body.length);
    }
  }

  /** A whole request that did not come over node:http. Never rejects. */
  submit({ route, principal, head, body, trace, remote }: WholeRequest): Promise<Answer> {
    this.active++;
    const { userAgent, origin, forwardedFor } = head;
    const end = (answer: Answer) => {
      this.active--;
      this.#options.onAnswered(route.path, answer.status);
      return answer;
    };
    if (this.active > this.#options.maxRequests) return Promise.resolve(end(UNAVAILABLE));
    return this.#handle({
      route,
      principal,
      facts: { userAgent, origin, forwardedFor, remote },
      body,
      trace,
    }).then(end, (error: unknown) => {
      this.#reportUnexpected(error, route, trace);
      return end(UNAVAILABLE);
    });
  }

  #handle({ route, principal, facts, body, trace }: Handled): Promise<Answer> {
    const { path, shape, type } = route;
    return route.handler({
      ...{ principal, source: 'sdk', path, shape, type, body, trace },
      receivedAt: this.#options.now(),
      ip: clientAddress(facts, this.#options.trusted),
      userAgent: headerText(facts.userAgent),
      origin: headerText(facts.origin),
    });
  }

  #reportUnexpected(error: unknown, route: EventRoute, trace: string): void {
    this.#options.log.error(
      { err: error, trace, path: route.path, code: 'unexpected' },
      'a request failed for an unexpected reason; it was answered 503',
    );
  }
}

const BEYOND_ASCII = /[\x80-\xff]/;

/** Header bytes arrive as latin1; clients that send more than ASCII send UTF-8. */
function headerText(value: string | undefined): string {
  if (value === undefined) return '';
  return BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString() : value;
}
