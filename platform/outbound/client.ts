import { performance } from 'node:perf_hooks';
import { AddressRules } from './address-rules.ts';
import type { AllowedHosts } from './allowed-hosts.ts';
import { exchange, type Answer } from './exchange.ts';
import { AddressRefused, destinationOf, guardedUrl, type Guard } from './guard.ts';
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
  /** Absent: the public internet at ports 80 and 443. */
  rules?: AddressRules;
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
  readonly #guard: Guard;
  readonly #agents: Agents;

  constructor(options: ClientOptions) {
    this.#options = options;
    const resolve = options.resolve ?? systemResolve((host) => options.allowed.names(host));
    this.#guard = { allowed: options.allowed, rules: options.rules ?? new AddressRules() };
    this.#agents = guardedAgents({ ...this.#guard, resolve });
  }

  /** Never rejects for an address or endpoint. Follows at most five redirects. */
  async post(request: OutboundRequest): Promise<OutboundResult> {
    const deadline = performance.now() + this.#options.timeout;
    let url: URL | undefined;
    try {
      url = guardedUrl(request.url, this.#guard);
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
      return { kind: 'failed', message: reasonOf(error, url) };
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
    const next = guardedUrl(location, this.#guard, from);
    if (from.protocol === 'https:' && next.protocol === 'http:')
      throw new AddressRefused(
        `redirected from https: to ${next.origin}, where everybody could read along`,
      );
    return next;
  }
}

/**
 * The system's error code, or the message. Customers see it: a failed connection names the host of
 * the URL, not the address that a name server inside answered, nor the local one.
 */
function reasonOf(error: unknown, url: URL | undefined): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return reasonOf(error.errors[0], url);
  if (!(error instanceof Error)) return String(error);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code !== undefined && syscall === 'connect' && url) {
    const { host, port } = destinationOf(url);
    return `connect ${code} ${host}:${port}`;
  }
  return code === undefined || error.message.includes(code)
    ? error.message
    : `${code}: ${error.message}`;
}
