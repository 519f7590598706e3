import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import { backoffDelay, delay } from '../../platform/backoff.ts';
import type { BackfillTarget } from '../../platform/claims/backfill.ts';
import type { LogEnds } from './log-ends.ts';
import { spansOf, type Span } from './stored-claims.ts';

export interface BackfillOptions {
  epoch: number;
  /** Number of partitions of events.raw. */
  partitions: number;
  /** DEDUPE_TTL, ms. */
  dedupeTtl: number;
  ends: LogEnds;
  /** Reads the claims of one span; see readStoredClaims. */
  read: (
    span: Span,
    signal: AbortSignal,
    onChunk: (claims: ClaimToLoad[]) => Promise<void>,
  ) => Promise<number>;
  now: () => number;
  /** Receives what the backfill waits for, in one sentence, whenever that changes. */
  waiting: (sentence: string) => void;
}

/** Covers clock differences between gateways, and the delay from a gateway to the log. */
const SLACK = 600_000;
const POLL = 500;
const RETRY = { base: 200, cap: 5000 };

/**
 * Loads the claims of the window into an empty Redis (BACKFILL.md explains why none is missed).
 * Retries while Kafka or ClickHouse is unavailable; rejects only when the target's signal aborts.
 * Returns the number of claims loaded.
 */
export async function backfillClaims(
  target: BackfillTarget,
  options: BackfillOptions,
): Promise<number> {
  const { ends, now, waiting, partitions, epoch } = options;
  const { signal } = target;
  const retryUntilRead = <T>(what: string, work: () => Promise<T>) =>
    readWithRetry({ what, signal, waiting }, work);

  waiting(`the claims are lost: waiting until all ${partitions} partitions are drained`);
  await target.waitUntilDrained({ epoch, partitions });

  const published = await retryUntilRead('the ends of events.normalised', () => ends.normalised());
  for (;;) {
    const unstored = await retryUntilRead('the position of the sink', () =>
      ends.unstored(published),
    );
    if (unstored === 0) break;
    waiting(
      `the claims are lost: waiting until the sink has stored ${unstored} more records of events.normalised (is events-sink up?)`,
    );
    await delay(POLL, signal);
  }

  const backlog = await retryUntilRead('the position of the normalisers', () =>
    ends.backlogAge(now()),
  );
  const from = Math.max(0, now() - backlog - SLACK - options.dedupeTtl);
  let loaded = 0;
  for (const [at, span] of spansOf({ from, now: now() }).entries()) {
    waiting(`the claims are lost: loading them from the stored events, span ${at + 1}`);
    loaded += await retryUntilRead('the stored events in ClickHouse', () =>
      options.read(span, signal, (claims) => target.load(claims)),
    );
  }
  return loaded;
}

async function readWithRetry<T>(
  {
    what,
    signal,
    waiting,
  }: { what: string; signal: AbortSignal; waiting: (sentence: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      waiting(
        `the claims are lost: cannot read ${what}, retrying: ${error instanceof Error ? error.message : String(error)}`,
      );
      await delay(RETRY.base + backoffDelay({ ...RETRY, attempt, random: Math.random() }), signal);
    }
  }
}
