import { performance } from 'node:perf_hooks';
import type { AllowedHosts } from './allowed-hosts.ts';
import { exchange, type Answer } from './exchange.ts';
import { AddressRefused, guardedUrl } from './guard.ts';
import { guardedAgents, type Agents } from './guarded-agents.ts';
import { systemResolve, type Resolve } from './resolve.ts';

export interface OutboundRequest {
  /** As a person wrote it. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export type OutboundResult =
  /** `excerpt` is the beginning of the body of an answer other than 2xx. */
  | { kind: 'answered'; status: number; excerpt: string }
  /** No answer: name, connection, TLS or time. */
  | { kind: 'failed'; message: string }
  /** Nothing was sent where it must not be: see AddressRefused. */
  | { kind: 'refused'; message: string };

interface ClientOptions {
  allowed: AllowedHosts;
  /** For everything together, ms: names, connections, redirects and the body of a failure. */
  timeout: number;
  /** Bytes that are kept of a failure's body. */
  excerptBytes: number;
  /** Tests put their own in. */
  resolve?: Resolve;
}

const MAX_REDIRECTS = 5;
/** Those that ask for the same request at another address; 303 asks to read something else. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/**
 * Posts to addresses that customers chose: through the address guard at every hop, within a time,
 * keeping connections, reading little of the answer.
 */
export class OutboundClient {
  readonly #options: ClientOptions;
  readonly #agents: Agents;

  constructor(options: ClientOptions) {
    this.#options = options;
    const resolve = options.resolve ?? systemResolve((host) => options.allowed.names(host));
    this.#agents = guardedAgents({ allowed: options.allowed, resolve });
  }

  /**
   * Never rejects for anything that an address or an endpoint can cause. A redirect is followed
   * with the same method and body, at most five times.
   */
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

  /** Ends kept connections. */
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

  /** Where the answer sends the request; throws AddressRefused when that must not be followed. */
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

/** What a person can act on: the code of the system, or the message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || error.message.includes(code)
    ? error.message
    : `${code}: ${error.message}`;
}
