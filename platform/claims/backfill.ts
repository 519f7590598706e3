import { randomBytes } from 'node:crypto';
import { packEntries } from '../../events/claims/resolution.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import { backoffDelay, delay } from '../backoff.ts';
import { BACKFILL_LOCK_MS, BackfillLock, partitionName } from './backfill-lock.ts';
import { asError, retryUntilAnswered, WAIT } from './retry-until-answered.ts';
import { loadScript } from './backfill-scripts.ts';
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
export interface BackfillTarget {
  /**
   * Aborted when the caller's signal is, and when the lock or the Redis is lost: the fill begins
   * anew then.
   */
  readonly signal: AbortSignal;
  /**
   * Waits until each of `partitions` partitions lies still, whoever owns it. What has been
   * published before is all there is to be read.
   */
  waitUntilDrained(options: { readonly epoch: number; readonly partitions: number }): Promise<void>;
  /** Any number of entries. A place that lasts as long or longer is kept. */
  load(entries: readonly ClaimToLoad[]): Promise<void>;
}

export interface EnsureLoadedOptions {
  /** Asked again and again while waiting, since partitions change hands. */
  readonly partitions: () => Assignment;
  /** Reads the stored events of the window. Called in one process at a time. */
  readonly backfill: (target: BackfillTarget) => Promise<void>;
  readonly signal: AbortSignal;
}

interface BackfillContext extends EnsureLoadedOptions {
  readonly run: ScriptRunner;
  readonly dedupeTtl: number;
  readonly onWaiting: (error: Error) => void;
}

const MAX_ENTRIES = 1_000;
const POLL_MS = 500;
const POLLS_PER_NOTICE = 20;

/** Thrown through `fill` when the lock or the Redis it was taken in is gone. */
class BackfillLost extends Error {
  override readonly name = 'FillLost';
  override readonly message =
    'the Redis that was being filled, or the lock on it, is gone: filling begins anew';
}

/** Resolves with the marker once Redis is filled; rejects only when the signal is aborted. */
export async function awaitLoaded(context: BackfillContext): Promise<string> {
  const lock = new BackfillLock(context.run);
  for (let failures = 0; ;) {
    const turn = await retryUntilAnswered(() => lock.begin(nonce()), context);
    switch (turn.turn) {
      case 'filled':
        return turn.marker;
      case 'busy':
        await retryUntilAnswered(() => lock.drained(turn.lock, ownNames(context)), context);
        await delay(POLL_MS, context.signal);
        break;
      case 'granted':
        try {
          return await new Backfill({ ...context, lock, held: turn.lock }).complete();
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
class Backfill implements BackfillTarget {
  readonly signal: AbortSignal;
  readonly #context: BackfillContext;
  readonly #lock: BackfillLock;
  readonly #held: string;
  readonly #lost = new AbortController();

  constructor(options: BackfillContext & { readonly lock: BackfillLock; readonly held: string }) {
    this.#context = options;
    this.#lock = options.lock;
    this.#held = options.held;
    this.signal = AbortSignal.any([options.signal, this.#lost.signal]);
  }

  async complete(): Promise<string> {
    const renewal = setInterval(() => void this.#renew(), BACKFILL_LOCK_MS / 3);
    try {
      await this.#context.backfill(this);
      const marker = await retryUntilAnswered(
        () => this.#lock.finish(this.#held, nonce()),
        this.#patience(),
      );
      return marker ?? this.#lose();
    } catch (error) {
      // Another process need not wait for the lock to run out. When Redis is away it will.
      await this.#lock.abandon(this.#held).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  async waitUntilDrained(options: {
    readonly epoch: number;
    readonly partitions: number;
  }): Promise<void> {
    const all = Array.from({ length: options.partitions }, (_, partition) =>
      partitionName(options.epoch, partition),
    );
    for (let polls = 1; ; polls += 1) {
      const still = await retryUntilAnswered(
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
    for (let from = 0; from < entries.length; from += MAX_ENTRIES) {
      const packed = packEntries(entries.slice(from, from + MAX_ENTRIES), this.#context.dedupeTtl);
      const loaded = await retryUntilAnswered(
        () => this.#context.run.run(loadScript, this.#held, BACKFILL_LOCK_MS, packed),
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
    if (!held) this.#lost.abort(new BackfillLost());
  }

  #lose(): never {
    const lost = new BackfillLost();
    this.#lost.abort(lost);
    throw lost;
  }
}

function ownNames(context: BackfillContext): string[] {
  const { epoch, owned } = context.partitions();
  return owned.map((partition) => partitionName(epoch, partition));
}

function nonce(): string {
  return randomBytes(12).toString('hex');
}
