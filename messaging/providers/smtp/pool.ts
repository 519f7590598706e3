import { FairQueue } from '../../../platform/fair-queue.ts';
import { onAbort } from '../../../platform/on-abort.ts';
import type { SmtpSession } from './session.ts';

interface PoolOptions {
  open: (signal: AbortSignal) => Promise<SmtpSession>;
  /** Connections at once. */
  connections: number;
  /** Messages that wait for one. */
  waiting: number;
  /** Servers limit the messages of a connection. */
  messagesPerConnection: number;
  /** How long a connection without messages is kept, ms. */
  idleMs: number;
}

/** Connections of one sender, reused as long as the server lets them. */
export class SmtpPool {
  readonly #options: PoolOptions;
  readonly #queue: FairQueue;
  /** The last one was used last. */
  readonly #idle: { session: SmtpSession; timer: NodeJS.Timeout }[] = [];
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { connections, waiting } = options;
    this.#queue = new FairQueue({
      concurrency: connections,
      maxWaiting: { total: waiting, perAccount: waiting },
    });
  }

  /**
   * Runs a job with a session of its own, at first perhaps with a used one. Undefined when too many
   * jobs wait already, or as soon as the signal aborts while the job waits. Rejects when no session
   * can be opened.
   */
  async run<T>(
    signal: AbortSignal,
    job: (session: SmtpSession, isUsed: boolean) => Promise<T>,
  ): Promise<T | undefined> {
    let hasBegun = false;
    const { promise: stopped, resolve } = Promise.withResolvers<undefined>();
    const stop = () => {
      if (!hasBegun) resolve(undefined);
    };
    const stopListening = onAbort(signal, stop);
    const running = this.#queue.run(0, async () => {
      if (signal.aborted) return undefined;
      hasBegun = true;
      return await this.#withSession(signal, job);
    });
    try {
      return await Promise.race([running, stopped]);
    } finally {
      stopListening();
    }
  }

  /** Ends idle connections; those in use end after their message. */
  close(): void {
    this.#isClosed = true;
    for (const { session, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      session.quit();
    }
  }

  async #withSession<T>(
    signal: AbortSignal,
    job: (session: SmtpSession, isUsed: boolean) => Promise<T>,
  ): Promise<T> {
    const used = this.#takeIdle();
    const session = used ?? (await this.#options.open(signal));
    try {
      return await job(session, used !== undefined);
    } finally {
      this.#release(session);
    }
  }

  #takeIdle(): SmtpSession | undefined {
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      clearTimeout(last.timer);
      if (last.session.isOpen) return last.session;
    }
    return undefined;
  }

  #release(session: SmtpSession): void {
    if (!session.isOpen) return;
    if (this.#isClosed || session.messages >= this.#options.messagesPerConnection) {
      session.quit();
      return;
    }
    const entry = {
      session,
      timer: setTimeout(() => {
        this.#idle.splice(this.#idle.indexOf(entry), 1);
        session.quit();
      }, this.#options.idleMs),
    };
    entry.timer.unref();
    this.#idle.push(entry);
  }
}
