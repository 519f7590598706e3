import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { TOKEN_BYTES } from '../../events/claims/entry.ts';
import { ConfirmBuffer } from '../../events/claims/confirm-buffer.ts';
import { claimVerdicts, unguardedVerdicts } from '../../events/claims/verdict.ts';
import type { ClaimVerdict } from '../../events/claims/verdict.ts';
import { Breaker } from './breaker.ts';
import { DEFAULT_PREFIX } from './connect.ts';
import { asError } from './retry-until-answered.ts';
import { GatewayClaims } from './gateway-claims.ts';

/** Claims of one request. Hand it back to raise or release as it is. */
export interface ClaimedIds {
  readonly ids: readonly ClaimId[];
  /** Receive time, Unix ms: the window counts from here. */
  readonly receivedAt: number;
  /** Under what our claims are pending; null when the store did not answer. */
  readonly token: Buffer | null;
  /** One for each id, in order. */
  readonly verdicts: readonly ClaimVerdict[];
}

interface Waiting {
  readonly ids: readonly ClaimId[];
  readonly receivedAt: number;
  readonly resolve: (claimed: ClaimedIds) => void;
}

export interface ClaimBatcherOptions {
  readonly redis: Redis;
  /** DEDUPE_TTL in ms. */
  readonly dedupeTtl: number;
  readonly prefix?: string;
  /**
   * ms after which a claim that was neither raised nor released is free again; 0 writes no pending
   * claims (docs/deduplication.md).
   */
  readonly pendingTtl?: number;
  /** ms that raises are gathered when no claim takes them along. */
  readonly confirmDelay?: number;
  /** Ids that may wait to be raised. */
  readonly maxUnconfirmed?: number;
  readonly onUnavailable?: (error: Error) => void;
  readonly onAvailable?: () => void;
  readonly onDroppedConfirms?: (count: number) => void;
}

const PENDING_TTL_MS = 30_000;
/** Ids in one script call: keeps Redis busy for a few milliseconds at most. */
const MAX_IDS = 2_000;
/** Calls under way; while they are, requests gather for the next. */
const MAX_FLUSHES = 4;
/**
 * A request that arrives when so many ids wait goes on without claims instead of queueing behind a
 * Redis that cannot keep up.
 */
const MAX_WAITING = 100_000;

/**
 * The gateway's side of claims (ingest 2.5): gathers what concurrent requests ask for within a turn
 * of the event loop into one round trip. A claim costs at most the connection's command timeout,
 * and nothing once the breaker is open: the events are published unguarded.
 */
export class ClaimBatcher {
  readonly counters = {
    claims: 0,
    flushes: 0,
    unguarded: 0,
    raises: 0,
    droppedRaises: 0,
    releases: 0,
    failures: 0,
  };

  readonly #claims: GatewayClaims;
  readonly #breaker: Breaker;
  readonly #unconfirmed: ConfirmBuffer;
  readonly #options: ClaimBatcherOptions;
  readonly #pendingTtl: number;
  readonly #process = randomBytes(TOKEN_BYTES);
  #calls = 0;
  #closing = false;
  #waiting: Waiting[] = [];
  #waitingIds = 0;
  #flushing = 0;
  #scheduled = false;
  #confirmTimer: NodeJS.Timeout | null = null;

  constructor(options: ClaimBatcherOptions) {
    this.#options = options;
    this.#pendingTtl = options.pendingTtl ?? PENDING_TTL_MS;
    this.#claims = new GatewayClaims({
      redis: options.redis,
      dedupeTtl: options.dedupeTtl,
      prefix: options.prefix ?? DEFAULT_PREFIX,
      pendingTtl: this.#pendingTtl,
    });
    this.#unconfirmed = new ConfirmBuffer(options.maxUnconfirmed ?? 50_000);
    this.#breaker = new Breaker({
      probe: () => options.redis.ping(),
      onOpen: (error) => options.onUnavailable?.(error),
      onClose: () => {
        options.onAvailable?.();
        this.#scheduleConfirms();
      },
    });
  }

  /** False while Redis is being left alone after a failure. */
  get available(): boolean {
    return this.#breaker.closed;
  }

  /** Never rejects. */
  claim(ids: readonly ClaimId[], receivedAt: number): Promise<ClaimedIds> {
    this.counters.claims += ids.length;
    if (ids.length === 0) return Promise.resolve({ ids, receivedAt, token: null, verdicts: [] });
    if (!this.#breaker.closed || this.#waitingIds > MAX_WAITING)
      return Promise.resolve(this.#unguarded(ids, receivedAt));
    return new Promise((resolve) => {
      this.#waiting.push({ ids, receivedAt, resolve });
      this.#waitingIds += ids.length;
      this.#schedule();
    });
  }

  /**
   * The events are durable: their claims last for DEDUPE_TTL from the receive time. Nobody waits
   * for it; claims sent later by this batcher see it.
   */
  confirm(claimed: ClaimedIds, positions?: readonly number[]): void {
    const ids = positions ? pick(claimed.ids, positions) : claimed.ids;
    this.#drop(
      this.#unconfirmed.add({ ids, expires: claimed.receivedAt + this.#options.dedupeTtl }),
    );
    this.#scheduleConfirms();
  }

  /**
   * After a publish that certainly failed: gives our own pending claims back. Never rejects; what
   * cannot be released ends with its pending time.
   */
  async release(claimed: ClaimedIds, positions?: readonly number[]): Promise<void> {
    const asked = positions ?? claimed.ids.map((_, position) => position);
    const ids = pick(
      claimed.ids,
      asked.filter((position) => claimed.verdicts[position] === 'claimed'),
    );
    if (claimed.token === null || ids.length === 0 || !this.#breaker.closed) return;
    try {
      this.counters.releases += await this.#claims.release(ids, claimed.token);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Sends what is still to be raised, as far as Redis takes it, and stops the timers. The
   * connection stays the caller's.
   */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#confirmTimer) clearTimeout(this.#confirmTimer);
    while (this.#unconfirmed.size > 0 && this.#breaker.closed) await this.#sendConfirms();
    // Answered after everything sent before it.
    if (this.#breaker.closed) await this.#options.redis.ping().catch(() => undefined);
    this.#breaker.stop();
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing >= MAX_FLUSHES) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    // What is durable goes before what is asked: a resend right after the answer must meet a
    // durable claim.
    while (this.#breaker.closed && this.#unconfirmed.size > MAX_IDS) void this.#sendConfirms();
    const batch = this.#nextBatch();
    if (batch.length === 0) return;
    this.#flushing += 1;
    const answers = this.#breaker.closed ? await this.#exchange(batch) : null;
    for (const [number, { ids, receivedAt, resolve }] of batch.entries())
      resolve(answers?.[number] ?? this.#unguarded(ids, receivedAt));
    this.#flushing -= 1;
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** One round trip for all of the batch; null when Redis did not answer it. */
  async #exchange(batch: readonly Waiting[]): Promise<ClaimedIds[] | null> {
    this.counters.flushes += 1;
    const token = this.#nextToken();
    const raises = this.#unconfirmed.take(MAX_IDS);
    try {
      const codes = await this.#claims.claim({
        raises: raises.packed,
        ids: batch.flatMap((waiting) => waiting.ids),
        token,
        // The latest of the batch: who came a little earlier may be told too soon that a claim has
        // ended, and is published; the normaliser knows each one's own time.
        now: batch.reduce((latest, waiting) => Math.max(latest, waiting.receivedAt), 0),
      });
      this.counters.raises += raises.count;
      let from = 0;
      return batch.map(({ ids, receivedAt }) => {
        const verdicts = claimVerdicts({ ids, codes, at: from, pending: this.#pendingTtl > 0 });
        from += ids.length;
        return { ids, receivedAt, token, verdicts };
      });
    } catch (error) {
      this.#drop(raises.count);
      this.#fail(error);
      return null;
    }
  }

  async #sendConfirms(): Promise<void> {
    const { packed, count } = this.#unconfirmed.take(MAX_IDS);
    if (count === 0) return;
    try {
      await this.#claims.confirm(packed);
      this.counters.raises += count;
    } catch (error) {
      this.#drop(count);
      this.#fail(error);
    }
  }

  /** Raises go with the next claims; this timer is for when none come. */
  #scheduleConfirms(): void {
    if (this.#confirmTimer || this.#closing || this.#unconfirmed.size === 0) return;
    this.#confirmTimer = setTimeout(() => {
      this.#confirmTimer = null;
      while (this.#breaker.closed && this.#unconfirmed.size > 0) void this.#sendConfirms();
    }, this.#options.confirmDelay ?? 2);
  }

  /** From the front, whole requests, up to the size of a call. */
  #nextBatch(): Waiting[] {
    let count = 0;
    let requests = 0;
    for (const { ids } of this.#waiting) {
      if (requests > 0 && count + ids.length > MAX_IDS) break;
      count += ids.length;
      requests += 1;
    }
    this.#waitingIds -= count;
    return this.#waiting.splice(0, requests);
  }

  #unguarded(ids: readonly ClaimId[], receivedAt: number): ClaimedIds {
    this.counters.unguarded += ids.length;
    return { ids, receivedAt, token: null, verdicts: unguardedVerdicts(ids) };
  }

  /**
   * Unlike any other of any process: a process's own random bits, the call's number added to their
   * lower half.
   */
  #nextToken(): Buffer {
    this.#calls = (this.#calls + 1) >>> 0;
    const token = Buffer.from(this.#process);
    token.writeUInt32BE((token.readUInt32BE(4) + this.#calls) >>> 0, 4);
    return token;
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.counters.droppedRaises += count;
    this.#options.onDroppedConfirms?.(count);
  }

  #fail(error: unknown): void {
    this.counters.failures += 1;
    this.#breaker.fail(asError(error));
  }
}

function pick(ids: readonly ClaimId[], positions: readonly number[]): ClaimId[] {
  return positions.flatMap((position) => ids[position] ?? []);
}
