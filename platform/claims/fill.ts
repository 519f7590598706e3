import { randomBytes } from 'node:crypto';
import { packEntries } from '../../events/claims/resolution.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import { backoffDelay, delay } from '../backoff.ts';
import { FILL_LOCK_MS, FillLock, partitionName } from './fill-lock.ts';
import { asError, persist, WAIT } from './persist.ts';
import { loadScript } from './fill-scripts.ts';
import type { ScriptRunner } from './script-runner.ts';

/**
 * Partitions of which nothing is in flight to Kafka: everything published of them is acknowledged,
 * and nothing more is published until the fill is over.
 */
export interface Assignment {
  readonly epoch: number;
  readonly owned: readonly number[];
}

/** Where the one process that fills puts what it reads. */
export interface FillTarget {
  /**
   * Aborted when the caller's signal is, and when the lock or the Redis is lost: the fill begins
   * anew then.
   */
  readonly signal: AbortSignal;
  /**
   * Waits until each of `partitions` partitions lies still, whoever owns it. What has been
   * published before is all there is to be read.
   */
  drained(options: { readonly epoch: number; readonly partitions: number }): Promise<void>;
  /** Any number of entries. A place that lasts as long or longer is kept. */
  load(entries: readonly ClaimToLoad[]): Promise<void>;
}

export interface FillOptions {
  /** Asked again and again while waiting, since partitions change hands. */
  readonly partitions: () => Assignment;
  /** Reads the stored events of the window. Called in one process at a time. */
  readonly fill: (target: FillTarget) => Promise<void>;
  readonly signal: AbortSignal;
}

interface FillContext extends FillOptions {
  readonly run: ScriptRunner;
  readonly dedupeTtl: number;
  readonly onWaiting: (error: Error) => void;
}

const MOST_ENTRIES = 1_000;
const POLL_MS = 500;
const POLLS_PER_NOTICE = 20;

/** Thrown through `fill` when the lock or the Redis it was taken in is gone. */
class FillLost extends Error {
  override readonly name = 'FillLost';
  override readonly message =
    'the Redis that was being filled, or the lock on it, is gone: filling begins anew';
}

/** Resolves with the marker once Redis is filled; rejects only when the signal is aborted. */
export async function awaitFilled(context: FillContext): Promise<string> {
  const lock = new FillLock(context.run);
  for (let failures = 0; ;) {
    const turn = await persist(() => lock.begin(nonce()), context);
    switch (turn.turn) {
      case 'filled':
        return turn.marker;
      case 'busy':
        await persist(() => lock.drained(turn.lock, ownNames(context)), context);
        await delay(POLL_MS, context.signal);
        break;
      case 'granted':
        try {
          return await new Fill({ ...context, lock, held: turn.lock }).complete();
        } catch (error) {
          context.signal.throwIfAborted();
          context.onWaiting(asError(error));
          await delay(
            backoffDelay({ ...WAIT, attempt: failures, random: Math.random() }),
            context.signal,
          );
          failures += 1;
        }
        break;
    }
  }
}

/** One attempt to fill, under a lock that is kept alive from here. */
class Fill implements FillTarget {
  readonly signal: AbortSignal;
  readonly #context: FillContext;
  readonly #lock: FillLock;
  readonly #held: string;
  readonly #lost = new AbortController();

  constructor(options: FillContext & { readonly lock: FillLock; readonly held: string }) {
    this.#context = options;
    this.#lock = options.lock;
    this.#held = options.held;
    this.signal = AbortSignal.any([options.signal, this.#lost.signal]);
  }

  async complete(): Promise<string> {
    const renewal = setInterval(() => void this.#renew(), FILL_LOCK_MS / 3);
    try {
      await this.#context.fill(this);
      const marker = await persist(() => this.#lock.finish(this.#held, nonce()), this.#patience());
      return marker ?? this.#lose();
    } catch (error) {
      // Another process need not wait for the lock to run out. When Redis is away it will.
      await this.#lock.abandon(this.#held).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  async drained(options: { readonly epoch: number; readonly partitions: number }): Promise<void> {
    const all = Array.from({ length: options.partitions }, (_, partition) =>
      partitionName(options.epoch, partition),
    );
    for (let polls = 1; ; polls += 1) {
      const still = await persist(
        () => this.#lock.drained(this.#held, ownNames(this.#context)),
        this.#patience(),
      );
      if (still === null) return this.#lose();
      const moving = all.filter((name) => !still.has(name));
      if (moving.length === 0) return;
      if (polls % POLLS_PER_NOTICE === 0)
        this.#context.onWaiting(new Error(`partitions ${moving.join(', ')} are not drained yet`));
      await delay(POLL_MS, this.signal);
    }
  }

  async load(entries: readonly ClaimToLoad[]): Promise<void> {
    for (let from = 0; from < entries.length; from += MOST_ENTRIES) {
      const packed = packEntries(entries.slice(from, from + MOST_ENTRIES), this.#context.dedupeTtl);
      const loaded = await persist(
        () => this.#context.run.run(loadScript, this.#held, FILL_LOCK_MS, packed),
        this.#patience(),
      );
      if (loaded === -1) this.#lose();
    }
  }

  #patience(): { readonly signal: AbortSignal; readonly onWaiting: (error: Error) => void } {
    return { signal: this.signal, onWaiting: this.#context.onWaiting };
  }

  async #renew(): Promise<void> {
    const held = await this.#lock.renew(this.#held).catch(() => true);
    if (!held) this.#lost.abort(new FillLost());
  }

  #lose(): never {
    const lost = new FillLost();
    this.#lost.abort(lost);
    throw lost;
  }
}

function ownNames(context: FillContext): string[] {
  const { epoch, owned } = context.partitions();
  return owned.map((partition) => partitionName(epoch, partition));
}

function nonce(): string {
  return randomBytes(12).toString('hex');
}
