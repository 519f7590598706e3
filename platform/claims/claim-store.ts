import type { Redis } from 'ioredis';
import { packClaimIds } from '../../events/claims/claim-id.ts';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { toClaimTime } from '../../events/claims/claim-time.ts';
import { decodeEntry } from '../../events/claims/entry.ts';
import type { ClaimEntry } from '../../events/claims/entry.ts';
import { packEntries, readResolutions } from '../../events/claims/resolution.ts';
import type { ClaimToResolve, ClaimResolution } from '../../events/claims/resolution.ts';
import { sweepSlack } from '../../events/claims/sweep.ts';
import { DEFAULT_PREFIX } from './connect.ts';
import { awaitLoaded } from './backfill.ts';
import type { EnsureLoadedOptions } from './backfill.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';
import { peekScript, resolveScript, sweepScript } from './scripts.ts';
import { ScriptRunner } from './script-runner.ts';

/**
 * `lost`: this Redis is not the one that was filled. Nothing of these entries is settled for sure;
 * settle them again after ensureFilled.
 */
export type ResolvedClaims =
  | { readonly status: 'settled'; readonly settlements: readonly ClaimResolution[] }
  | { readonly status: 'lost' };

/** Up to where each of the caller's partitions has been settled. */
export interface SweepProgress {
  readonly epoch: number;
  /**
   * `at`: Unix ms; now when the partition is settled to its end, else received_at of its last
   * settled record.
   */
  readonly settled: readonly { readonly partition: number; readonly at: number }[];
}

export interface SweepReport {
  readonly status: 'swept' | 'lost';
  readonly buckets: number;
  readonly visited: number;
  readonly seen: number;
  readonly removed: number;
}

/** Entries in one script call: gateways wait behind it for a few milliseconds at most. */
const MAX_ENTRIES = 1_000;

/**
 * The normaliser's side of claims (DESIGN "Claims in two states"): claims for good, by dedupe key
 * -> place, in a Redis that is known to be filled. While Redis is away every call waits, with
 * backoff, until it answers or the signal is aborted.
 */
export class ClaimStore {
  readonly #run: ScriptRunner;
  readonly #dedupeTtl: number;
  readonly #onWaiting: (error: Error) => void;
  #marker = '';

  /**
   * dedupeTtl: DEDUPE_TTL in ms. onWaiting is told of each failed attempt that is followed by
   * another.
   */
  constructor(options: {
    readonly redis: Redis;
    readonly dedupeTtl: number;
    readonly prefix?: string;
    readonly onWaiting?: (error: Error) => void;
  }) {
    this.#run = new ScriptRunner({
      redis: options.redis,
      prefix: options.prefix ?? DEFAULT_PREFIX,
    });
    this.#dedupeTtl = options.dedupeTtl;
    this.#onWaiting = options.onWaiting ?? (() => undefined);
  }

  /**
   * Returns once this very run of Redis holds the claims of the window: filled before, by another
   * process, or by `fill` in this one.
   */
  async ensureLoaded(options: EnsureLoadedOptions): Promise<void> {
    this.#marker = await awaitLoaded({
      ...options,
      run: this.#run,
      dedupeTtl: this.#dedupeTtl,
      onWaiting: this.#onWaiting,
    });
  }

  /**
   * Decides the entries in order. Doing it again is safe: what was settled answers `replay`.
   * Rejects only when the signal is aborted. An empty list asks whether this is still the filled
   * Redis.
   */
  async resolve(entries: readonly ClaimToResolve[], signal: AbortSignal): Promise<ResolvedClaims> {
    const settlements: ClaimResolution[] = [];
    for (let from = 0; from === 0 || from < entries.length; from += MAX_ENTRIES) {
      const chunk = entries.slice(from, from + MAX_ENTRIES);
      const packed = packEntries(chunk, this.#dedupeTtl);
      const reply = await retryUntilAnswered(
        () => this.#run.run(resolveScript, this.#marker, this.#dedupeTtl, packed),
        { signal, onWaiting: this.#onWaiting },
      );
      if (!Buffer.isBuffer(reply))
        throw new TypeError('the settle script did not answer with bytes');
      const settled = readResolutions(reply, chunk.length);
      if (settled === null) return { status: 'lost' };
      settlements.push(...settled);
    }
    return { status: 'settled', settlements };
  }

  /**
   * Visits the next `visits` buckets and removes what has left the window: claims without a place
   * when their time is over, placed ones when in addition ALL `partitions` have been settled beyond
   * it by sweepSlack. One attempt; rejects when Redis does not answer.
   */
  async sweep(options: {
    readonly now: number;
    readonly visits: number;
    readonly partitions: number;
    readonly progress: SweepProgress;
  }): Promise<SweepReport> {
    const { epoch, settled } = options.progress;
    const reply = await this.#run.run(
      sweepScript,
      this.#marker,
      toClaimTime(options.now),
      sweepSlack(this.#dedupeTtl),
      options.visits,
      epoch,
      options.partitions,
      ...settled.flatMap(({ partition, at }) => [partition, toClaimTime(at)]),
    );
    if (!Array.isArray(reply))
      return { status: 'lost', buckets: 0, visited: 0, seen: 0, removed: 0 };
    const [visited = 0, seen = 0, removed = 0, buckets = 0] = reply.map(Number);
    return { status: 'swept', buckets, visited, seen, removed };
  }

  /**
   * What stands under the ids, whether it still holds or not. One attempt; rejects when Redis does
   * not answer.
   */
  async peek(ids: readonly ClaimId[]): Promise<readonly (ClaimEntry | null)[]> {
    const values = await this.#run.run(peekScript, packClaimIds(ids));
    if (!Array.isArray(values)) throw new TypeError('the peek script did not answer with a list');
    return values.map((value) => (Buffer.isBuffer(value) ? decodeEntry(value) : null));
  }
}
