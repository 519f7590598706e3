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
  /**
   * Reads the claims of a range of events.normalised; undefined: this release cannot read all of
   * it (readLoggedClaims).
   */
  readLog: (
    range: { partition: number; from: number; to: number },
    signal: AbortSignal,
    onChunk: (claims: ClaimToLoad[]) => Promise<void>,
  ) => Promise<number | undefined>;
  now: () => number;
  /** Receives what the backfill waits for, in one sentence, whenever that changes. */
  waiting: (sentence: string) => void;
}

/** Covers clock differences between gateways, and the delay from a gateway to the log. */
const SLACK = 600_000;
const POLL = 500;
const RETRY = { base: 200, cap: 5000 };

/**
 * Loads the claims that Redis lost (BACKFILL.md explains why none is missed): those of the rows
 * that were published since Redis last recorded the ends of events.normalised, or of the whole
 * window when it recorded none. Retries while Kafka or ClickHouse is unavailable; rejects only when
 * the target's signal aborts.
 */
export async function backfillClaims(
  target: BackfillTarget,
  options: BackfillOptions,
): Promise<Backfilled> {
  const { ends, waiting, partitions, epoch } = options;
  const { signal } = target;

  waiting(`the claims are lost: waiting until all ${partitions} partitions are drained`);
  await target.waitUntilDrained({ epoch, partitions });

  const published = await readWithRetry({ what: ENDS, signal, waiting }, () => ends.normalised());
  const recorded = await target.recordedEnds(epoch);
  if (recorded.size > 0 && isInLog(recorded, published)) {
    const loaded = await loadLogged(target, options, recorded);
    if (loaded !== undefined) return { from: 'log', loaded };
  }
  return { from: 'warehouse', loaded: await loadWindow(target, options, published) };
}

/** Where the claims were read, and how many were loaded. */
export interface Backfilled {
  from: 'log' | 'warehouse';
  loaded: number;
}

type TopicEnds = Awaited<ReturnType<LogEnds['normalised']>>;

const ENDS = 'the ends of events.normalised';

/**
 * Whether everything from the recorded ends on is still in the log, and the log reaches them. A
 * partition without one may be new; then it has no record.
 */
function isInLog(recorded: ReadonlyMap<number, number>, published: TopicEnds): boolean {
  const exists = [...recorded.keys()].every((partition) => published.has(partition));
  return (
    exists &&
    [...published].every(([partition, { low, high }]) => {
      const end = recorded.get(partition);
      return end === undefined ? high === 0 : low <= end && end <= high;
    })
  );
}

/** Reads until nothing was appended meanwhile: a fenced process may still have had a record. */
async function loadLogged(
  target: BackfillTarget,
  { ends, readLog, waiting }: BackfillOptions,
  recorded: ReadonlyMap<number, number>,
): Promise<number | undefined> {
  const { signal } = target;
  const next = new Map(recorded);
  let loaded = 0;
  for (let isComplete = false; !isComplete;) {
    const published = await readWithRetry({ what: ENDS, signal, waiting }, () => ends.normalised());
    isComplete = true;
    for (const [partition, { high }] of published) {
      const from = next.get(partition) ?? 0;
      if (from >= high) continue;
      isComplete = false;
      waiting(
        `the claims are lost: loading those of ${high - from} records of partition ${partition}`,
      );
      const rows = await readWithRetry({ what: 'events.normalised', signal, waiting }, () =>
        readLog({ partition, from, to: high }, signal, (claims) => target.load(claims)),
      );
      if (rows === undefined) return undefined;
      loaded += rows;
      next.set(partition, high);
    }
  }
  return loaded;
}

/**
 * Reads the rows of the whole window from ClickHouse, once the sink has stored all of them. All
 * partitions are drained, so everything below the committed offsets is below the ends, and stored.
 */
async function loadWindow(
  target: BackfillTarget,
  { ends, now, read, waiting, dedupeTtl }: BackfillOptions,
  published: TopicEnds,
): Promise<number> {
  const { signal } = target;
  const retryUntilRead = <T>(what: string, work: () => Promise<T>) =>
    readWithRetry({ what, signal, waiting }, work);
  const committed = await retryUntilRead('the position of the normalisers', () => ends.committed());
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

  target.packBelow(committed);
  const backlog = await retryUntilRead('the position of the normalisers', () =>
    ends.backlogAge(now()),
  );
  const from = Math.max(0, now() - backlog - SLACK - dedupeTtl);
  let loaded = 0;
  for (const [at, span] of spansOf({ from, now: now() }).entries()) {
    waiting(`the claims are lost: loading them from the stored events, span ${at + 1}`);
    loaded += await retryUntilRead('the stored events in ClickHouse', () =>
      read(span, signal, (claims) => target.load(claims)),
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
