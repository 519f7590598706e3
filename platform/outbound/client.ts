import { performance } from 'node:perf_hooks';
import type { AllowedHosts } from './allowed-hosts.ts';
import { exchange, type Answer } from './exchange.ts';
import { AddressRefused, guardedUrl } from './guard.ts';
import { guardedAgents, type Agents } from './guarded-agents.ts';
import { systemResolve, type Resolve } from './resolve.ts';

export interface OutboundRequest {
  /** As the customer entered it. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export type OutboundResult =
  /** `excerpt`: the first bytes of the body of an answer other than 2xx. */
  | { kind: 'answered'; status: number; excerpt: string }
  /** No answer: DNS, connection, TLS or timeout. */
  | { kind: 'failed'; message: string }
  /** No request was sent to the refused address: see AddressRefused. */
  | { kind: 'refused'; message: string };

interface ClientOptions {
  allowed: AllowedHosts;
  /** In total, ms: DNS, connections, redirects and the body of a failure. */
  timeout: number;
  /** Bytes of a failure's body in the excerpt. */
  excerptBytes: number;
  /** Replaced by tests. */
  resolve?: Resolve;
}

const MAX_REDIRECTS = 5;
/** These repeat the request at another URL; 303 would change the method to GET. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/**
 * Outbound HTTP to URLs of customers: with the address guard at every hop, a total timeout, reused
 * connections, and a limit on what it reads of the answer.
 */
export class OutboundClient {
  readonly #options: ClientOptions;
  readonly #agents: Agents;

  constructor(options: ClientOptions) {
    this.#options = options;
    const resolve = options.resolve ?? systemResolve((host) => options.allowed.names(host));
    this.#agents = guardedAgents({ allowed: options.allowed, resolve });
  }

  /** Never rejects for an address or endpoint. Follows at most five redirects. */
  async post(request: OutboundRequest): Promise<OutboundResult> {
    const deadline = performance.now() + this.#options.timeout;
    try {
      let url = guardedUrl(request.url, this.#options.allowed);
      for (let hop = 0; ; hop++) {
        const answer = await this.#send({ ...request, url, deadline });
        const next = this.#redirectOf(url, answer);
        if (!next) return { kind: 'answered', status: answer.status, excerpt: answer.excerpt };
        if (hop === MAX_REDIRECTS)
          return {
            kind: 'refused',
            message: `redirected more than ${MAX_REDIRECTS} times, last to ${next.origin}`,
          };
        url = next;
      }
    } catch (error) {
      if (error instanceof AddressRefused) return { kind: 'refused', message: error.message };
      return { kind: 'failed', message: reasonOf(error) };
    }
  }

  /** Closes idle connections. */
  close(): void {
    this.#agents.destroy();
  }

  #send(options: {
    url: URL;
    headers: Readonly<Record<string, string>>;
    body: string;
    deadline: number;
  }): Promise<Answer> {
    const { excerptBytes, timeout } = this.#options;
    const protocol = options.url.protocol === 'https:' ? 'https:' : 'http:';
    return exchange({
      ...options,
      kept: this.#agents.kept[protocol],
      fresh: this.#agents.fresh[protocol],
      excerptBytes,
      timeout,
    });
  }

  /** The URL of a redirect. Throws AddressRefused when it must not be followed. */
  #redirectOf(from: URL, { status, location }: Answer): URL | undefined {
    if (!REDIRECTS.has(status) || location === undefined) return undefined;
    const next = guardedUrl(location, this.#options.allowed, from);
    if (from.protocol === 'https:' && next.protocol === 'http:')
      throw new AddressRefused(
        `redirected from https: to ${next.origin}, where everybody could read along`,
      );
    return next;
  }
}

/** The system's error code, or the message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || error.message.includes(code)
    ? error.message
    : `${code}: ${error.message}`;
}
