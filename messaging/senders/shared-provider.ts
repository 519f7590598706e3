import type { Provider, ProviderAnswer, ProviderMessage } from '../providers/provider.ts';

/** How long a replaced provider stays open for those who still hold it, ms. */
const GRACE_MS = 30_000;

/**
 * A provider that many callers hold while it may be replaced: once retired, it closes after its
 * open calls have ended and nobody has called it for GRACE_MS. A later call is certainly not sent,
 * and is tried again with the provider that replaced it.
 */
export class SharedProvider implements Provider {
  readonly channel;
  readonly name;
  readonly isIdempotent;
  readonly #provider: Provider;
  readonly #closed = Promise.withResolvers<unknown>();
  #calls = 0;
  #isRetired = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(provider: Provider) {
    this.#provider = provider;
    this.channel = provider.channel;
    this.name = provider.name;
    this.isIdempotent = provider.isIdempotent;
  }

  async send(message: ProviderMessage, options: { signal: AbortSignal }): Promise<ProviderAnswer> {
    if (this.#isClosed)
      return {
        ...{ kind: 'retry', reason: 'sender_replaced' },
        detail: 'the settings of the channel were changed',
      };
    this.#calls++;
    clearTimeout(this.#timer);
    try {
      return await this.#provider.send(message, options);
    } finally {
      this.#calls--;
      if (this.#isRetired) this.#closeLater(GRACE_MS);
    }
  }

  /** Resolves when it is closed. */
  get closed(): Promise<unknown> {
    return this.#closed.promise;
  }

  /** It was replaced: it closes when it is idle. */
  retire(): void {
    this.#isRetired = true;
    this.#closeLater(GRACE_MS);
  }

  /** Closes as soon as no call is open. */
  async close(): Promise<void> {
    this.#isRetired = true;
    this.#closeLater(0);
    await this.#closed.promise;
  }

  #closeLater(ms: number): void {
    if (this.#calls > 0 || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isClosed = true;
      void this.#provider.close().catch(ignore).then(this.#closed.resolve);
    }, ms);
    this.#timer.unref();
  }
}

/** What fails while a connection closes, nobody needs. */
const ignore = () => undefined;
