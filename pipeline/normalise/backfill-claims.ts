import { backoffDelay, delay } from '../../platform/backoff.ts';
import type { ClaimToLoad } from '../../events/claims/resolution.ts';
import type { BackfillTarget } from '../../platform/claims/backfill.ts';
import type { LogEnds } from './log-ends.ts';
import { spansOf, type Span } from './stored-window.ts';

export interface BackfillOptions {
  epoch: number;
  /** How many partitions there are in all. */
  partitions: number;
  /** DEDUPE_TTL, ms. */
  dedupeTtl: number;
  ends: LogEnds;
  /** Reads the claims of one span; see readStoredClaims. */
  read: (
    span: Span,
    signal: AbortSignal,
    onChunk: (entries: ClaimToLoad[]) => Promise<void>,
  ) => Promise<number>;
  now: () => number;
  /** Told what is being waited for, in one sentence, as often as it changes. */
  waiting: (sentence: string) => void;
}

/** Gateways' clocks differ, and the log takes a record a little after the gateway did. */
const SLACK = 600_000;
const POLL = 500;
const RETRY = { base: 200, cap: 5000 };

/**
 * Fills an empty Redis with the claims of the window (REFILL.md has the argument). Kafka or
 * ClickHouse being away is waited for; rejects only when the target's signal aborts. Answers how
 * many claims were loaded.
 */
export async function backfillClaims(
  target: BackfillTarget,
  options: BackfillOptions,
): Promise<number> {
  const { ends, now, waiting, partitions, epoch } = options;
  const { signal } = target;
  const persist = <T>(what: string, work: () => Promise<T>) =>
    persistently({ what, signal, waiting }, work);

  waiting(`the claims are lost: waiting until all ${partitions} partitions lie still`);
  await target.waitUntilDrained({ epoch, partitions });

  const published = await persist('the ends of events.normalised', () => ends.normalised());
  for (;;) {
    const unstored = await persist('the position of the sink', () => ends.unstored(published));
    if (unstored === 0) break;
    waiting(
      `the claims are lost: waiting until the sink has stored ${unstored} more records of events.normalised (is events-sink up?)`,
    );
    await delay(POLL, signal);
  }

  const backlog = await persist('the position of the normalisers', () => ends.backlogAge(now()));
  const from = Math.max(0, now() - backlog - SLACK - options.dedupeTtl);
  let loaded = 0;
  for (const [at, span] of spansOf({ from, now: now() }).entries()) {
    waiting(`the claims are lost: filling them from the stored events, span ${at + 1}`);
    loaded += await persist('the stored events in ClickHouse', () =>
      options.read(span, signal, (entries) => target.load(entries)),
    );
  }
  return loaded;
}

async function persistently<T>(
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
        `the claims are lost: cannot read ${what}, trying again: ${error instanceof Error ? error.message : String(error)}`,
      );
      await delay(RETRY.base + backoffDelay({ ...RETRY, attempt, random: Math.random() }), signal);
    }
  }
}
