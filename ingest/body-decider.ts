import { setTimeout as sleep } from 'node:timers/promises';
import { mapDelivery } from '../events/webhooks/map-delivery.ts';
import type { Mapping, Skipped } from '../events/webhooks/mapping.ts';
import { FairQueue } from '../platform/fair-queue.ts';
import { decideBody, type BodyToDecide, type DecidedBody } from './decide-body.ts';
import { DecideThread, type DecideThreadOptions } from './decide-thread.ts';
import type { JsonObject } from '../events/json.ts';
import type { DeliveryToMap, MappedBodies } from './map-body.ts';
import { isCheapToParse } from './parse-cost.ts';
import { readFields, type FieldsToRead } from './read-fields.ts';

type Thread = Pick<DecideThread, 'decide' | 'map' | 'read' | 'end' | 'waitedMs'>;

export interface BodyDeciderOptions extends DecideThreadOptions {
  /** Instead of a thread of its own. */
  thread?: Thread;
  /** Resolves after ms: then the thread gets its next job. */
  pause?: (ms: number) => Promise<unknown>;
  random: () => number;
  /** The thread was ended: its heap was full, or a body took too long. */
  onFailure?: (error: unknown) => void;
}

/** Bodies that wait for the thread; each counts against the budget of bodies meanwhile. */
const MAX_WAITING = { total: 256, perAccount: 32 };
/** A larger delivery is mapped in the thread: 700 calls of a pipeline take about 8 ms. */
const MAX_INLINE_DELIVERY_BYTES = 32 * 1024;

/**
 * Low priority alone leaves no core free for others to start on at once. So the thread backs off
 * when it had to wait for a core: its next job begins so many times as long after the last one.
 */
const BACKOFF_FACTOR = 4;
const MAX_BACKOFF_MS = 500;
const unreferenced = (ms: number) => sleep(ms, undefined, { ref: false });

/**
 * Decides bodies: cheap ones at once; the others, one after the other, in a thread of low priority,
 * so that no body stops the event loop for long. Accounts take turns.
 */
export class BodyDecider {
  readonly #options: BodyDeciderOptions;
  readonly #queue = new FairQueue({ concurrency: 1, maxWaiting: MAX_WAITING });
  readonly #thread: Thread;
  #pause: Promise<unknown> | undefined;
  readonly counters = { inline: 0, thread: 0, refused: 0, failed: 0 };

  constructor(options: BodyDeciderOptions) {
    this.#options = options;
    this.#thread = options.thread ?? new DecideThread(options);
  }

  /** Resolves with undefined when there is no room or the thread fails: the answer is 503. */
  decide(
    input: BodyToDecide,
    accountId: number,
  ): DecidedBody | Promise<DecidedBody | undefined> | undefined {
    if (isCheapToParse(input.body, this.#options.random)) {
      this.counters.inline++;
      return decideBody(input);
    }
    return this.#queued(accountId, () => this.#thread.decide(input));
  }

  /** Maps a delivery to events: at once, or in the thread to bodies of imports. As `decide`. */
  map(
    input: DeliveryToMap,
    accountId: number,
  ): Mapping | Promise<MappedBodies | Skipped | undefined> | undefined {
    const { source, headers, body } = input;
    if (body.length <= MAX_INLINE_DELIVERY_BYTES && isCheapToParse(body, this.#options.random)) {
      this.counters.inline++;
      return mapDelivery({ source, headers, raw: body });
    }
    return this.#queued(accountId, () => this.#thread.map(input));
  }

  /** Members of a body; `malformed` when it is not a JSON object. As `decide`. */
  async read(
    input: FieldsToRead,
    accountId: number,
  ): Promise<JsonObject | 'malformed' | undefined> {
    if (isCheapToParse(input.body, this.#options.random)) {
      this.counters.inline++;
      return readFields(input) ?? 'malformed';
    }
    return this.#queued(accountId, () => this.#thread.read(input));
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  async close(): Promise<void> {
    await this.#thread.end();
  }

  #queued<T>(accountId: number, job: () => Promise<T>): Promise<T | undefined> | undefined {
    const done = this.#queue.run(accountId, () => this.#inThread(job));
    this.counters[done ? 'thread' : 'refused']++;
    return done;
  }

  async #inThread<T>(job: () => Promise<T>): Promise<T | undefined> {
    if (this.#pause) await this.#pause;
    try {
      return await job();
    } catch (error) {
      this.counters.failed++;
      this.#options.onFailure?.(error);
      return undefined;
    } finally {
      this.#pause = this.#pauseAfter(this.#thread.waitedMs);
    }
  }

  #pauseAfter(waitedMs: number): Promise<unknown> | undefined {
    const ms = Math.min(MAX_BACKOFF_MS, Math.round(BACKOFF_FACTOR * waitedMs));
    return ms > 0 ? (this.#options.pause ?? unreferenced)(ms) : undefined;
  }
}
