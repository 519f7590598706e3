import { randomBytes } from 'node:crypto';
import { packClaims } from '../../events/claims/resolution.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import { splitByShard } from '../../events/claims/shard.ts';
import { backoffDelay, delay } from '../backoff.ts';
import { BACKFILL_LOCK_MS, BackfillLock, partitionKey } from './backfill-lock.ts';
import type { LoadPermit } from './backfill-lock.ts';
import type { FormerClaims } from './former-claims.ts';
import { asError, retryUntilAnswered, BACKOFF } from './retry-until-answered.ts';
import { loadScript, packScript } from './backfill-scripts.ts';
import { toClaimTime } from '../../events/claims/claim-time.ts';
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
   * row below them. Of several shards that lost claims, the lowest. Empty when one of them recorded
   * none.
   */
  recordedEnds(epoch: number): Promise<ReadonlyMap<number, number>>;
  /**
   * From now on claims are packed while they are loaded.
   * @param stored by partition, the offset of events.raw up to which every row is stored
   */
  packBelow(stored: ReadonlyMap<number, number>): void;
  /**
   * Stores those of any number of claims whose shards lost theirs. Keeps a stored claim that
   * expires later.
   */
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
  readonly shards: readonly ScriptRunner[];
  /** Undefined: there is no former layout. */
  readonly former: FormerClaims | undefined;
  readonly dedupeTtl: number;
  /** Age from which the claims of stored events are packed, ms; undefined: none is. */
  readonly packAfter: () => number | undefined;
  /** All shards together hold about so many claims that are not packed while they are loaded. */
  readonly maxUnpacked: number;
  readonly onWaiting: (error: Error) => void;
}

/** Buckets that one call packs; it blocks Redis for a few milliseconds. */
const PACKED_BUCKETS = 16;
const MAX_CLAIMS = 1_000;
const POLL_MS = 500;
const POLLS_PER_REPORT = 20;

/** Thrown through `backfill` when the lock or its Redis is lost. */
class BackfillLost extends Error {
  override readonly name = 'BackfillLost';
  override readonly message =
    'Redis, or the lock of the backfill, was lost: the backfill starts over';
}

/** Resolves with the marker of each shard once all hold the claims; rejects only when aborted. */
export async function awaitLoaded(context: BackfillContext): Promise<readonly string[]> {
  const lock = new BackfillLock(context.shards);
  for (let failures = 0; ;) {
    const markers = await retryUntilAnswered(() => loadedMarkers(lock, context), context);
    if (markers) return markers;
    const attempt = await retryUntilAnswered(() => lock.begin(nonce()), context);
    if (attempt.status === 'busy') {
      await retryUntilAnswered(
        () => lock.reportDrained(attempt.lock, ownPartitions(context)),
        context,
      );
      await delay(POLL_MS, context.signal);
      continue;
    }
    try {
      const { isComplete } = await new Backfill({ ...context, lock, held: attempt.lock }).run();
      // Nothing reads the former claims any more, so nothing waits for the scan of all keys: what a
      // failure leaves costs memory only.
      if (isComplete)
        void context.former?.remove().catch((error: unknown) => context.onWaiting(asError(error)));
    } catch (error) {
      context.signal.throwIfAborted();
      context.onWaiting(asError(error));
      await delay(
        backoffDelay({ ...BACKOFF, attempt: failures, random: Math.random() }),
        context.signal,
      );
      failures += 1;
    }
  }
}

/** Undefined unless every shard holds the loaded claims, and nobody resolves others. */
async function loadedMarkers(
  lock: BackfillLock,
  { former }: BackfillContext,
): Promise<readonly string[] | undefined> {
  const [markers, isFormerInUse] = await Promise.all([lock.markers(), former?.areInUse()]);
  const loaded = markers.flatMap((marker) => marker ?? []);
  return loaded.length === markers.length && isFormerInUse !== true ? loaded : undefined;
}

/** One attempt to backfill; renews its lock. */
class Backfill implements BackfillTarget {
  readonly signal: AbortSignal;
  readonly #context: BackfillContext;
  readonly #lock: BackfillLock;
  readonly #held: string;
  #permits: readonly LoadPermit[] = [];
  #stored: ReadonlyMap<number, number> | undefined;
  /** By shard, claims that were loaded since it was packed. */
  readonly #unpacked = new Map<number, number>();
  readonly #lost = new AbortController();

  constructor(options: BackfillContext & { readonly lock: BackfillLock; readonly held: string }) {
    this.#context = options;
    this.#lock = options.lock;
    this.#held = options.held;
    this.signal = AbortSignal.any([options.signal, this.#lost.signal]);
  }

  /** `isComplete`: the claims of all shards were loaded. */
  async run(): Promise<{ isComplete: boolean }> {
    const { former, backfill, shards } = this.#context;
    const renewal = setInterval(() => void this.#renew(), BACKFILL_LOCK_MS / 3);
    try {
      const all = (await this.#retry(async () => former?.areInUse())) === true;
      this.#permits = await this.#retry(() => this.#lock.permits(this.#held, { all }));
      if (this.#permits.length > 0) await backfill(this);
      if (all) await this.#retry(async () => former?.invalidate());
      for (const permit of this.#permits) {
        const marker = nonce();
        const finished = await this.#retry(() => this.#lock.finish(permit, marker));
        if (!finished) this.#failLost();
      }
      return { isComplete: this.#permits.length === shards.length };
    } finally {
      clearInterval(renewal);
      // Lets another process start at once. If Redis is unavailable, the lock expires.
      await this.#lock.release(this.#held).catch(() => undefined);
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
      const drained = await this.#retry(() =>
        this.#lock.reportDrained(this.#held, ownPartitions(this.#context)),
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
    const prefix = partitionKey(epoch, '');
    const recorded = await Promise.all(
      this.#permits.map(async (permit) => {
        const ends = await this.#retry(() => this.#lock.recordedEnds(permit));
        if (ends === null) return this.#failLost();
        return new Map(
          [...ends].flatMap(([key, end]) =>
            key.startsWith(prefix) ? [[Number(key.slice(prefix.length)), end] as const] : [],
          ),
        );
      }),
    );
    return commonEnds(recorded);
  }

  packBelow(stored: ReadonlyMap<number, number>): void {
    this.#stored = stored;
  }

  async load(claims: readonly ClaimToLoad[]): Promise<void> {
    const shards = this.#context.shards.length;
    const permits = new Map(this.#permits.map((permit) => [permit.shard, permit]));
    const parts = splitByShard(claims, { shards, idOf: ({ id }) => id });
    await Promise.all(
      parts.map(async ({ shard, items }) => {
        const permit = permits.get(shard);
        if (!permit) return;
        await this.#loadShard(permit, items);
        const unpacked = (this.#unpacked.get(shard) ?? 0) + items.length;
        this.#unpacked.set(shard, unpacked);
        if (unpacked < this.#context.maxUnpacked / shards || !this.#stored) return;
        this.#unpacked.set(shard, 0);
        await this.#packShard(permit, this.#stored);
      }),
    );
  }

  async #loadShard({ shard, permit }: LoadPermit, claims: readonly ClaimToLoad[]): Promise<void> {
    for (let from = 0; from < claims.length; from += MAX_CLAIMS) {
      const packed = packClaims(claims.slice(from, from + MAX_CLAIMS), this.#context.dedupeTtl);
      const loaded = await this.#retry(async () =>
        this.#context.shards[shard]?.run(loadScript, permit, BACKFILL_LOCK_MS, packed),
      );
      if (loaded === -1) this.#failLost();
    }
  }

  async #packShard(
    { shard, permit }: LoadPermit,
    stored: ReadonlyMap<number, number>,
  ): Promise<void> {
    const { packAfter, dedupeTtl, shards } = this.#context;
    const age = packAfter();
    if (age === undefined) return;
    let next = 0;
    do {
      const of = [permit, BACKFILL_LOCK_MS, dedupeTtl, toClaimTime(Date.now()), age];
      const reply = await this.#retry(async () =>
        shards[shard]?.run(packScript, ...of, PACKED_BUCKETS, next, ...[...stored].flat()),
      );
      if (!Array.isArray(reply)) return this.#failLost();
      next = Number(reply[0]);
    } while (next > 0);
  }

  #retry<T>(attempt: () => Promise<T>): Promise<T> {
    return retryUntilAnswered(attempt, {
      signal: this.signal,
      onWaiting: this.#context.onWaiting,
    });
  }

  async #renew(): Promise<void> {
    const held = await this.#lock.renew(this.#held, this.#permits).catch(() => true);
    if (!held) this.#lost.abort(new BackfillLost());
  }

  #failLost(): never {
    const lost = new BackfillLost();
    this.#lost.abort(lost);
    throw lost;
  }
}

/** What all have recorded; a partition that one of them lacks is new to it. */
function commonEnds(recorded: readonly ReadonlyMap<number, number>[]): Map<number, number> {
  const [first, ...others] = recorded;
  const common = new Map<number, number>();
  for (const [partition, end] of first ?? []) {
    const ends = [end, ...others.flatMap((other) => other.get(partition) ?? [])];
    if (ends.length === recorded.length) common.set(partition, Math.min(...ends));
  }
  return common;
}

function ownPartitions(context: BackfillContext): string[] {
  const { epoch, owned } = context.partitions();
  return owned.map((partition) => partitionKey(epoch, partition));
}

function nonce(): string {
  return randomBytes(12).toString('hex');
}
