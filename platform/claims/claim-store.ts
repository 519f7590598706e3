import type { Redis } from 'ioredis';
import { packClaimIds } from '../../events/claims/claim-id.ts';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { toClaimTime } from '../../events/claims/claim-time.ts';
import { decodeEntry } from '../../events/claims/entry.ts';
import type { ClaimEntry } from '../../events/claims/entry.ts';
import { packClaims, readResolutions } from '../../events/claims/resolution.ts';
import type { ClaimAnswer, ClaimToResolve } from '../../events/claims/resolution.ts';
import { joinParts, splitByShard } from '../../events/claims/shard.ts';
import { sweepSlack } from '../../events/claims/sweep.ts';
import { claimLayout } from './claim-keys.ts';
import { FormerClaims } from './former-claims.ts';
import { awaitLoaded } from './backfill.ts';
import type { EnsureLoadedOptions } from './backfill.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';
import type { Script } from './lua.ts';
import { peekScript, resolveScript, sweepScript } from './scripts.ts';
import { shardRunners } from './script-runner.ts';
import type { ScriptRunner } from './script-runner.ts';

/**
 * `lost`: this Redis does not hold the loaded claims. None of the claims is certainly resolved;
 * resolve them again after `ensureLoaded`.
 */
export type ResolvedClaims =
  | { readonly status: 'resolved'; readonly resolutions: readonly ClaimAnswer[] }
  | { readonly status: 'lost' };

/** Up to which receive time each of the caller's partitions has been processed. */
export interface SweepProgress {
  readonly epoch: number;
  /** `until`: Unix ms; now when processed to the end, else the last received_at. */
  readonly processed: readonly { readonly partition: number; readonly until: number }[];
  /**
   * Ends of events.normalised by partition, read before the sweep: with a restarted Redis the
   * backfill continues from them (pipeline/normalise/BACKFILL.md).
   */
  readonly ends?: ReadonlyMap<number, number>;
  /**
   * By partition, the offset of events.raw up to which every row is stored: claims below it are
   * packed (pipeline/normalise/stored-offsets.ts).
   */
  readonly stored?: ReadonlyMap<number, number>;
}

export interface SweepReport {
  readonly status: 'swept' | 'lost';
  readonly buckets: number;
  readonly visited: number;
  readonly seen: number;
  readonly removed: number;
  readonly packed: number;
}

/** Claims in one script call, which blocks Redis for a few milliseconds at most. */
const MAX_CLAIMS = 1_000;
/**
 * While the window is loaded, 1.2 GB of claims that are not packed. Each round of packing rewrites
 * all packs, so fewer would write the append-only file more often.
 */
const MAX_UNPACKED = 32_000_000;

/**
 * The normaliser's side of claims (ARCHITECTURE.md, G2): final claims, dedupe key -> log position,
 * in a Redis that is known to hold the claims of the whole window. While Redis is unavailable,
 * calls retry with backoff until it answers or the signal aborts.
 */
export class ClaimStore {
  readonly #shards: readonly ScriptRunner[];
  readonly #former: FormerClaims | undefined;
  readonly #dedupeTtl: number;
  readonly #packAfter: () => number | undefined;
  readonly #maxUnpacked: number;
  readonly #onWaiting: (error: Error) => void;
  #markers: readonly string[] = [];

  /**
   * dedupeTtl: DEDUPE_TTL in ms. packAfter: the age from which the claims of stored events are
   * packed, ms; undefined: none is packed, as where it is absent. onWaiting is called after each
   * failed attempt that is retried.
   */
  constructor(options: {
    readonly redis: Redis;
    readonly dedupeTtl: number;
    readonly prefix?: string;
    /** For tests; otherwise by the kind of the Redis (claim-keys.ts). */
    readonly shards?: number;
    /** For tests (claim-keys.ts). */
    readonly firstPacks?: number;
    readonly packAfter?: () => number | undefined;
    /** For tests; otherwise MAX_UNPACKED. */
    readonly maxUnpacked?: number;
    readonly onWaiting?: (error: Error) => void;
  }) {
    const layout = claimLayout(options);
    this.#shards = shardRunners(options.redis, layout);
    this.#former =
      layout.former === undefined ? undefined : new FormerClaims(options.redis, layout.former);
    this.#dedupeTtl = options.dedupeTtl;
    this.#packAfter = options.packAfter ?? (() => undefined);
    this.#maxUnpacked = options.maxUnpacked ?? MAX_UNPACKED;
    this.#onWaiting = options.onWaiting ?? (() => undefined);
  }

  /** Number of shards; each is swept by itself. */
  get shards(): number {
    return this.#shards.length;
  }

  /** Returns once Redis holds the window's claims, loaded by anyone or by `backfill`. */
  async ensureLoaded(options: EnsureLoadedOptions): Promise<void> {
    this.#markers = await awaitLoaded({
      ...options,
      shards: this.#shards,
      former: this.#former,
      dedupeTtl: this.#dedupeTtl,
      packAfter: this.#packAfter,
      maxUnpacked: this.#maxUnpacked,
      onWaiting: this.#onWaiting,
    });
  }

  /**
   * Resolves the claims, those of one id in order. It is idempotent: a claim resolved before gives
   * `replay`. Rejects only when the signal aborts. An empty list checks whether Redis still holds
   * the loaded claims.
   */
  async resolve(claims: readonly ClaimToResolve[], signal: AbortSignal): Promise<ResolvedClaims> {
    const parts =
      claims.length > 0
        ? splitByShard(claims, { shards: this.shards, idOf: ({ id }) => id })
        : this.#shards.map((_, shard) => ({ shard, items: [], at: [] }));
    const resolved = await Promise.all(
      parts.map(({ shard, items }) => this.#resolveShard(shard, items, signal)),
    );
    const answers = resolved.flatMap((one) => (one === null ? [] : [one]));
    if (answers.length < parts.length) return { status: 'lost' };
    return { status: 'resolved', resolutions: joinParts(parts, answers) };
  }

  /** Null when the shard does not hold the loaded claims. */
  async #resolveShard(
    shard: number,
    claims: readonly ClaimToResolve[],
    signal: AbortSignal,
  ): Promise<readonly ClaimAnswer[] | null> {
    const resolutions: ClaimAnswer[] = [];
    // Claims of one id are resolved in order, so one that must wait for an answer stops the others.
    const asked = new Set<ClaimId>();
    for (let from = 0; from === 0 || from < claims.length; from += MAX_CLAIMS) {
      const chunk = claims
        .slice(from, from + MAX_CLAIMS)
        .map((claim): ClaimToResolve =>
          claim.stored === undefined && asked.has(claim.id) ? { ...claim, stored: 'ask' } : claim,
        );
      const packed = packClaims(chunk, this.#dedupeTtl);
      const reply = await retryUntilAnswered(
        () => this.#run(shard, resolveScript, this.#marker(shard), this.#dedupeTtl, packed),
        { signal, onWaiting: this.#onWaiting },
      );
      if (!Buffer.isBuffer(reply))
        throw new TypeError('the resolve script did not answer with bytes');
      const resolved = readResolutions(reply, chunk.length);
      if (resolved === null) return null;
      for (const [at, { verdict }] of resolved.entries()) {
        const claim = chunk[at];
        if (verdict === 'ask' && claim) asked.add(claim.id);
      }
      resolutions.push(...resolved);
    }
    return resolutions;
  }

  /**
   * Visits the next `visits` buckets of a shard and removes claims that have left the window:
   * durable and pending claims when they expire, resolved claims when all `partitions` have been
   * processed past their expiry by sweepSlack. Packs those of stored events. One attempt; rejects
   * when Redis does not answer.
   */
  async sweep(options: {
    readonly shard: number;
    readonly now: number;
    readonly visits: number;
    readonly partitions: number;
    readonly progress: SweepProgress;
  }): Promise<SweepReport> {
    const none: ReadonlyMap<number, number> = new Map();
    const { epoch, processed, ends = none, stored = none } = options.progress;
    const { shard } = options;
    const lost: SweepReport = {
      ...{ status: 'lost', buckets: 0, visited: 0, seen: 0, removed: 0, packed: 0 },
    };
    if (shard === 0 && (await this.#former?.areInUse()) === true) return lost;
    const reply = await this.#run(
      shard,
      sweepScript,
      this.#marker(shard),
      toClaimTime(options.now),
      sweepSlack(this.#dedupeTtl),
      options.visits,
      epoch,
      options.partitions,
      this.#dedupeTtl,
      this.#packAfter() ?? -1,
      processed.length,
      stored.size,
      ...processed.flatMap(({ partition, until }) => [partition, toClaimTime(until)]),
      ...[...stored].flat(),
      ...[...ends].flat(),
    );
    if (!Array.isArray(reply)) return lost;
    const [visited = 0, seen = 0, removed = 0, buckets = 0, packed = 0] = reply.map(Number);
    return { status: 'swept', buckets, visited, seen, removed, packed };
  }

  /**
   * Whether each id has a resolved claim, packed or not. Of no use unless `resolve` finds the
   * claims loaded afterwards. Retries as `resolve` does.
   */
  async held(ids: readonly ClaimId[], signal: AbortSignal): Promise<readonly boolean[]> {
    const held: boolean[] = [];
    for (let from = 0; from < ids.length; from += MAX_CLAIMS) {
      const entries = await retryUntilAnswered(
        () => this.peek(ids.slice(from, from + MAX_CLAIMS)),
        { signal, onWaiting: this.#onWaiting },
      );
      held.push(
        ...entries.map((entry) => entry?.state === 'resolved' || entry?.state === 'packed'),
      );
    }
    return held;
  }

  /**
   * The stored entries of the ids, expired or not. One attempt; rejects when Redis does not answer.
   */
  async peek(ids: readonly ClaimId[]): Promise<readonly (ClaimEntry | null)[]> {
    const parts = splitByShard(ids, { shards: this.shards, idOf: (id) => id });
    const values = await Promise.all(
      parts.map(async ({ shard, items }) => {
        const of = await this.#run(shard, peekScript, packClaimIds(items));
        if (!Array.isArray(of)) throw new TypeError('the peek script did not answer with a list');
        return of.map((value) => (Buffer.isBuffer(value) ? decodeEntry(value) : null));
      }),
    );
    return joinParts(parts, values);
  }

  #run(
    shard: number,
    script: Script,
    ...values: readonly (Buffer | string | number)[]
  ): Promise<unknown> {
    const runner = this.#shards[shard];
    if (!runner) throw new RangeError(`the claims have no shard ${shard}`);
    return runner.run(script, ...values);
  }

  #marker(shard: number): string {
    return this.#markers[shard] ?? '';
  }
}
