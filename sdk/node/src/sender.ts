import { DONE, HOLD, HOLD_MS, RETRY, retryDelay, SPLIT, verdictOf } from '../../shared/delivery.ts';
import { post, type Answer } from './post.ts';
import type { Queue, Waiting } from './queue.ts';
import type { RavandError } from './types.ts';

const MAX_ITEMS = 500;
/** The host takes 5 MiB. */
const MAX_BYTES = 4_000_000;
const TIMEOUT_MS = 30_000;

export interface SenderOptions {
  host: string;
  writeKey: string;
  queue: Queue;
  /** Of a batch: what the SDK reports of itself. */
  context: () => object;
  sent: (events: readonly Waiting[]) => void;
  /** `cause` is of few kinds, `reason` what the host answered. */
  dropped: (events: readonly Waiting[], cause: string, reason: string) => void;
  refused: (answer: Answer) => void;
  failed: (error: RavandError) => void;
}

/** Sends the events of a queue, one batch after another, as ingest 7.5 says. */
export class Sender {
  readonly #options: SenderOptions;
  #failures = 0;
  #maxItems = MAX_ITEMS;
  #heldUntil = 0;
  #running: Promise<void> | undefined;
  #wake: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** How long the host takes nothing, ms. */
  get heldFor(): number {
    return Math.max(0, this.#heldUntil - Date.now());
  }

  /** Until nothing waits, or the host takes nothing more now. Never rejects. */
  drain(): Promise<void> {
    return (this.#running ??= this.#drain().finally(() => (this.#running = undefined)));
  }

  /** What is being sent is not waited for. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#wake);
  }

  async #drain(): Promise<void> {
    const { queue, dropped } = this.#options;
    while (this.heldFor === 0 && !this.#isStopped) {
      const unknown = queue.removeUnknown(Date.now());
      if (unknown.length > 0) dropped(unknown, 'unknown', 'sent too long ago to be sent again');
      const some = queue.next(this.#maxItems, MAX_BYTES);
      if (some.length === 0) return;
      await this.#send(some);
    }
  }

  async #send(some: readonly Waiting[]): Promise<void> {
    const answer = await this.#post(some);
    const verdict = verdictOf(answer.status, some.length);
    if (verdict === SPLIT) {
      this.#maxItems = some.length >> 1;
      return;
    }
    if (verdict === RETRY) {
      this.#hold(retryDelay(++this.#failures, answer.retryAfter));
      return;
    }
    this.#failures = 0;
    this.#maxItems = MAX_ITEMS;
    if (verdict === DONE) {
      this.#complete(some, answer);
      return;
    }
    this.#drop(some, `http_${answer.status}`, answer.body.message ?? '');
    this.#options.refused(answer);
    if (verdict === HOLD) this.#hold(HOLD_MS);
  }

  async #post(some: readonly Waiting[]): Promise<Answer> {
    const { host, writeKey, queue, context, failed } = this.#options;
    const now = Date.now();
    // A disk that is full holds back nothing that is in memory.
    await queue.attempted(some, now).catch((error: unknown) => failed(error as RavandError));
    const rest = JSON.stringify({ sent_at: new Date(now), context: context() });
    const body = `{"batch":[${some.map(({ json }) => json).join()}],${rest.slice(1)}`;
    return post(`${host}/v1/batch`, body, { key: writeKey, timeoutMs: TIMEOUT_MS });
  }

  #complete(some: readonly Waiting[], { body }: Answer): void {
    for (const { index, reason = '' } of body.errors ?? []) {
      const event = some[index];
      // What follows the stable prefix of a reason is of one event (ingest 7.3).
      if (event) this.#drop([event], /^\w*/.exec(reason)?.[0] ?? '', reason);
    }
    const sent = this.#options.queue.remove(some);
    if (sent.length > 0) this.#options.sent(sent);
  }

  #drop(some: readonly Waiting[], cause: string, reason: string): void {
    const removed = this.#options.queue.remove(some);
    if (removed.length > 0) this.#options.dropped(removed, cause, reason);
  }

  #hold(ms: number): void {
    this.#heldUntil = Date.now() + ms;
    clearTimeout(this.#wake);
    if (!this.#isStopped) this.#wake = setTimeout(() => void this.drain(), ms + 1).unref();
  }
}
