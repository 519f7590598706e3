import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import { TOKEN_BYTES } from '../../events/claims/entry.ts';
import { ConfirmBuffer } from '../../events/claims/confirm-buffer.ts';
import { claimVerdicts, unguardedVerdicts } from '../../events/claims/verdict.ts';
import type { ClaimVerdict } from '../../events/claims/verdict.ts';
import { Breaker } from './breaker.ts';
import { asError } from './retry-until-answered.ts';
import { GatewayClaims } from './gateway-claims.ts';

/** Claims of one request, the argument of `confirm` and `release`. */
export interface ClaimedIds {
  readonly ids: readonly ClaimId[];
  /** Unix ms; the dedupe window begins here. */
  readonly receivedAt: number;
  /** Token of our pending claims; null when Redis did not answer. */
  readonly token: Buffer | null;
  /** One per id, in order. */
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
  /** For tests; otherwise by the kind of the Redis (claim-keys.ts). */
  readonly shards?: number;
  /** ms until a pending claim expires; 0 writes none (docs/deduplication.md). */
  readonly pendingTtl?: number;
  /** ms to collect confirms before they are sent without a claim call. */
  readonly confirmDelay?: number;
  /** Limit of ids waiting to be confirmed. */
  readonly maxUnconfirmed?: number;
  readonly onUnavailable?: (error: Error) => void;
  readonly onAvailable?: () => void;
  readonly onDroppedConfirms?: (count: number) => void;
}

const PENDING_TTL_MS = 30_000;
/** Ids in one script call, which blocks Redis for a few milliseconds at most. */
const MAX_IDS = 2_000;
/** Concurrent calls; while they run, requests wait for the next batch. */
const MAX_CALLS = 4;
/** Above this many waiting ids requests continue unclaimed: Redis cannot keep up. */
const MAX_WAITING = 100_000;

/**
 * The gateway's side of claims (ingest 2.5): batches the claims of concurrent requests, of one turn
 * of the event loop, into one round trip. A claim takes at most the connection's command timeout,
 * and no time once the breaker is open: events are then published unguarded.
 */
export class ClaimBatcher {
  readonly counters = {
    claims: 0,
    flushes: 0,
    unguarded: 0,
    confirms: 0,
    droppedConfirms: 0,
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
      prefix: options.prefix,
      shards: options.shards,
      pendingTtl: this.#pendingTtl,
    });
    this.#unconfirmed = new ConfirmBuffer(options.maxUnconfirmed ?? 50_000);
    this.#breaker = new Breaker({
      probe: () => this.#claims.probe(),
      onOpen: (error) => options.onUnavailable?.(error),
      onClose: () => {
        options.onAvailable?.();
        this.#scheduleConfirms();
      },
    });
  }

  /** False while the breaker is open. */
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
   * The events are durable: extends their claims to DEDUPE_TTL after the receive time. Nothing
   * waits for the reply; later claims of this batcher see the confirmed claims.
   */
  confirm(claimed: ClaimedIds, positions?: readonly number[]): void {
    const ids = positions ? pick(claimed.ids, positions) : claimed.ids;
    this.#drop(
      this.#unconfirmed.add({ ids, expires: claimed.receivedAt + this.#options.dedupeTtl }),
    );
    this.#scheduleConfirms();
  }

  /**
   * After a publish that certainly failed: removes our own pending claims. Never rejects; a claim
   * that cannot be released expires after the pending TTL.
   */
  async release(claimed: ClaimedIds, positions?: readonly number[]): Promise<void> {
    const requested = positions ?? claimed.ids.map((_, position) => position);
    const ids = pick(
      claimed.ids,
      requested.filter((position) => claimed.verdicts[position] === 'claimed'),
    );
    if (claimed.token === null || ids.length === 0 || !this.#breaker.closed) return;
    try {
      this.counters.releases += await this.#claims.release(ids, claimed.token);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Sends remaining confirms while Redis answers, and stops the timers. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#confirmTimer) clearTimeout(this.#confirmTimer);
    while (this.#unconfirmed.size > 0 && this.#breaker.closed) await this.#sendConfirms();
    // Each shard replies in order: its reply comes after those of the confirms.
    if (this.#breaker.closed) await this.#claims.probe().catch(() => undefined);
    this.#breaker.stop();
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing >= MAX_CALLS) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    // Confirms precede claims: a resend right after the response must find a durable claim.
    while (this.#breaker.closed && this.#unconfirmed.size > MAX_IDS) void this.#sendConfirms();
    const batch = this.#nextBatch();
    if (batch.length === 0) return;
    this.#flushing += 1;
    const claimed = this.#breaker.closed ? await this.#exchange(batch) : null;
    for (const [number, { ids, receivedAt, resolve }] of batch.entries())
      resolve(claimed?.[number] ?? this.#unguarded(ids, receivedAt));
    this.#flushing -= 1;
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** One round trip for the whole batch; null when Redis did not answer. */
  async #exchange(batch: readonly Waiting[]): Promise<ClaimedIds[] | null> {
    this.counters.flushes += 1;
    const token = this.#nextToken();
    const confirms = this.#unconfirmed.next(MAX_IDS);
    try {
      const codes = await this.#claims.claim({
        confirms: confirms.groups,
        ids: batch.flatMap((waiting) => waiting.ids),
        token,
        // The latest of the batch. An earlier request may see a claim expire a little too soon and
        // publish; the normaliser uses the receive time of each event.
        now: batch.reduce((latest, waiting) => Math.max(latest, waiting.receivedAt), 0),
      });
      this.counters.confirms += confirms.count;
      let from = 0;
      return batch.map(({ ids, receivedAt }) => {
        const verdicts = claimVerdicts({ ids, codes, at: from, pending: this.#pendingTtl > 0 });
        from += ids.length;
        return { ids, receivedAt, token, verdicts };
      });
    } catch (error) {
      this.#drop(confirms.count);
      this.#fail(error);
      return null;
    }
  }

  async #sendConfirms(): Promise<void> {
    const { groups, count } = this.#unconfirmed.next(MAX_IDS);
    if (count === 0) return;
    try {
      await this.#claims.confirm(groups);
      this.counters.confirms += count;
    } catch (error) {
      this.#drop(count);
      this.#fail(error);
    }
  }

  /** Confirms travel with the next claim call; this timer sends them when there is none. */
  #scheduleConfirms(): void {
    if (this.#confirmTimer || this.#closing || this.#unconfirmed.size === 0) return;
    this.#confirmTimer = setTimeout(() => {
      this.#confirmTimer = null;
      while (this.#breaker.closed && this.#unconfirmed.size > 0) void this.#sendConfirms();
    }, this.#options.confirmDelay ?? 2);
  }

  /** Whole requests from the front, up to the size of one call. */
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

  /** Unique: random bits of this process plus the call number. */
  #nextToken(): Buffer {
    this.#calls = (this.#calls + 1) >>> 0;
    const token = Buffer.from(this.#process);
    token.writeUInt32BE((token.readUInt32BE(4) + this.#calls) >>> 0, 4);
    return token;
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.counters.droppedConfirms += count;
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
