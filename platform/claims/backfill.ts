import { randomBytes } from 'node:crypto';
import { packClaims } from '../../events/claims/resolution.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import { backoffDelay, delay } from '../backoff.ts';
import { BACKFILL_LOCK_MS, BackfillLock, partitionKey } from './backfill-lock.ts';
import { asError, retryUntilAnswered, BACKOFF } from './retry-until-answered.ts';
import { loadScript } from './backfill-scripts.ts';
import type { ScriptRunner } from './script-runner.ts';

/**
 * Partitions of this process, with nothing in flight to Kafka: everything published is
 * acknowledged, and nothing more is published until the backfill has ended.
 */
export interface Assignment {
  readonly epoch: number;
  readonly owned: readonly number[];
}

/** Where the process that backfills writes the claims it reads. */
export interface BackfillTarget {
  /** Aborts with the caller, or when lock or Redis is lost: the backfill restarts. */
  readonly signal: AbortSignal;
  /**
   * Waits until all `partitions` partitions are drained, whichever process owns them. Everything
   * that was published is then below the ends of the topics.
   */
  waitUntilDrained(options: { readonly epoch: number; readonly partitions: number }): Promise<void>;
  /**
   * Ends of events.normalised by partition that this Redis recorded: it holds the claims of every
   * row below them. Empty when it recorded none.
   */
  recordedEnds(epoch: number): Promise<ReadonlyMap<number, number>>;
  /** Stores any number of claims. Keeps a stored claim that expires later. */
  load(claims: readonly ClaimToLoad[]): Promise<void>;
}

export interface EnsureLoadedOptions {
  /** Called repeatedly while waiting, since partitions are reassigned. */
  readonly partitions: () => Assignment;
  /** Loads the claims of the stored events. Runs in one process at a time. */
  readonly backfill: (target: BackfillTarget) => Promise<void>;
  readonly signal: AbortSignal;
}

interface BackfillContext extends EnsureLoadedOptions {
  readonly scripts: ScriptRunner;
  readonly dedupeTtl: number;
  readonly onWaiting: (error: Error) => void;
}

const MAX_CLAIMS = 1_000;
const POLL_MS = 500;
const POLLS_PER_REPORT = 20;

/** Thrown through `backfill` when the lock or its Redis is lost. */
class BackfillLost extends Error {
  override readonly name = 'FillLost';
  override readonly message =
    'Redis, or the lock of the backfill, was lost: the backfill starts over';
}

/** Resolves with the marker once Redis holds the claims; rejects only when the signal aborts. */
export async function awaitLoaded(context: BackfillContext): Promise<string> {
  const lock = new BackfillLock(context.scripts);
  for (let failures = 0; ;) {
    const attempt = await retryUntilAnswered(() => lock.begin(nonce()), context);
    switch (attempt.status) {
      case 'loaded':
        return attempt.marker;
      case 'busy':
        await retryUntilAnswered(
          () => lock.reportDrained(attempt.lock, ownPartitions(context)),
          context,
        );
        await delay(POLL_MS, context.signal);
        break;
      case 'granted':
        try {
          return await new Backfill({ ...context, lock, held: attempt.lock }).run();
        } catch (error) {
          context.signal.throwIfAborted();
          context.onWaiting(asError(error));
          await delay(
            backoffDelay({ ...BACKOFF, attempt: failures, random: Math.random() }),
            context.signal,
          );
          failures += 1;
        }
        break;
    }
  }
}

/** One attempt to backfill; renews its lock. */
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

  async run(): Promise<string> {
    const renewal = setInterval(() => void this.#renew(), BACKFILL_LOCK_MS / 3);
    try {
      await this.#context.backfill(this);
      const marker = await retryUntilAnswered(
        () => this.#lock.finish(this.#held, nonce()),
        this.#retrying(),
      );
      return marker ?? this.#failLost();
    } catch (error) {
      // Lets another process start at once. If Redis is unavailable, the lock expires.
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
      partitionKey(options.epoch, partition),
    );
    for (let polls = 1; ; polls += 1) {
      const drained = await retryUntilAnswered(
        () => this.#lock.reportDrained(this.#held, ownPartitions(this.#context)),
        this.#retrying(),
      );
      if (drained === null) return this.#failLost();
      const missing = all.filter((key) => !drained.has(key));
      if (missing.length === 0) return;
      if (polls % POLLS_PER_REPORT === 0)
        this.#context.onWaiting(new Error(`partitions ${missing.join(', ')} are not drained yet`));
      await delay(POLL_MS, this.signal);
    }
  }

  async recordedEnds(epoch: number): Promise<ReadonlyMap<number, number>> {
    const recorded = await retryUntilAnswered(
      () => this.#lock.recordedEnds(this.#held),
      this.#retrying(),
    );
    if (recorded === null) return this.#failLost();
    const prefix = partitionKey(epoch, '');
    return new Map(
      [...recorded].flatMap(([key, end]) =>
        key.startsWith(prefix) ? [[Number(key.slice(prefix.length)), end] as const] : [],
      ),
    );
  }

  async load(claims: readonly ClaimToLoad[]): Promise<void> {
    for (let from = 0; from < claims.length; from += MAX_CLAIMS) {
      const packed = packClaims(claims.slice(from, from + MAX_CLAIMS), this.#context.dedupeTtl);
      const loaded = await retryUntilAnswered(
        () => this.#context.scripts.run(loadScript, this.#held, BACKFILL_LOCK_MS, packed),
        this.#retrying(),
      );
      if (loaded === -1) this.#failLost();
    }
  }

  #retrying(): { readonly signal: AbortSignal; readonly onWaiting: (error: Error) => void } {
    return { signal: this.signal, onWaiting: this.#context.onWaiting };
  }

  async #renew(): Promise<void> {
    const held = await this.#lock.renew(this.#held).catch(() => true);
    if (!held) this.#lost.abort(new BackfillLost());
  }

  #failLost(): never {
    const lost = new BackfillLost();
    this.#lost.abort(lost);
    throw lost;
  }
}

function ownPartitions(context: BackfillContext): string[] {
  const { epoch, owned } = context.partitions();
  return owned.map((partition) => partitionKey(epoch, partition));
}

function nonce(): string {
  return randomBytes(12).toString('hex');
}
