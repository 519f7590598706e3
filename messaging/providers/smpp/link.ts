import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { backoffDelay } from '../../../platform/backoff.ts';
import { AddressRefused } from '../../../platform/outbound/guard.ts';
import { connectGuarded } from '../../../platform/outbound/guarded-socket.ts';
import type { ProviderDeps } from '../opening.ts';
import type { ProviderAnswer } from '../provider.ts';
import { bindFailure } from './classify.ts';
import type { SmppConfig } from './config.ts';
import { BindRefused, SmppSession } from './session.ts';

/** Message centres listen at any port above the well-known ones. */
const MIN_PORT = 1024;
const CONNECT_MS = 15_000;
/** What node:tls says of a certificate that it does not accept. */
const IS_CERTIFICATE = /certificate|altnames/i;
const BACKOFF = { base: 500, cap: 30_000, min: 100 };

export type Link =
  { kind: 'bound'; session: SmppSession } | Exclude<ProviderAnswer, { kind: 'accepted' }>;

/** Keeps at most one session bound, and binds again with backoff and jitter. */
export class SmppLink {
  readonly #config: SmppConfig;
  readonly #password: string;
  readonly #deps: ProviderDeps;
  #session: SmppSession | undefined;
  #binding: Promise<Link> | undefined;
  #failures = 0;
  /** ms since the epoch: no attempt before it. */
  #nextAt = 0;
  #lastFailure = '';

  constructor(config: SmppConfig, password: string, deps: ProviderDeps) {
    this.#config = config;
    this.#password = password;
    this.#deps = deps;
  }

  /** A bound session, or why there is none. Concurrent callers share an attempt. Never rejects. */
  async use(): Promise<Link> {
    if (this.#session?.isOpen) return { kind: 'bound', session: this.#session };
    const afterMs = this.#nextAt - this.#deps.now();
    if (!this.#binding && afterMs > 0)
      return { kind: 'retry', reason: 'unreachable', detail: this.#lastFailure, afterMs };
    this.#binding ??= this.#bind().finally(() => (this.#binding = undefined));
    return await this.#binding;
  }

  close(): void {
    this.#session?.close();
  }

  async #bind(): Promise<Link> {
    const { systemId } = this.#config;
    try {
      const socket = await this.#connect();
      this.#session = await SmppSession.bind(socket, { systemId, password: this.#password });
      this.#failures = 0;
      return { kind: 'bound', session: this.#session };
    } catch (error) {
      const failure = failureOf(error);
      const random = this.#deps.random();
      const wait = backoffDelay({ ...BACKOFF, attempt: this.#failures++, random });
      this.#nextAt = this.#deps.now() + wait;
      this.#lastFailure = failure.detail;
      return failure;
    }
  }

  async #connect(): Promise<Socket> {
    const { host, port, secure } = this.#config;
    const { guard } = this.#deps;
    const socket = await connectGuarded({
      ...{ host, port, guard, timeout: CONNECT_MS },
      allowsPort: (one) => one >= MIN_PORT,
    });
    // TLS errors arrive at the session, which ends with them.
    return secure ? connectTls({ socket, host, servername: isIP(host) === 0 ? host : '' }) : socket;
  }
}

function failureOf(error: unknown): Exclude<ProviderAnswer, { kind: 'accepted' }> {
  if (error instanceof BindRefused) return bindFailure(error.status);
  const detail = error instanceof Error ? error.message : String(error);
  if (IS_CERTIFICATE.test(detail)) return { kind: 'broken', reason: 'tls', detail };
  return error instanceof AddressRefused
    ? { kind: 'broken', reason: 'address_refused', detail }
    : { kind: 'retry', reason: 'unreachable', detail };
}
