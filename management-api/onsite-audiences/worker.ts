import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { AudienceStore, ClaimedAudience } from './audience-store.ts';
import { computeAudience, type ReadMembers } from './compute.ts';

export interface AudienceWorkerOptions {
  store: AudienceStore;
  readMembers: ReadMembers;
  /** Removes what nobody needs any more of who has seen campaigns. */
  sweepShown: () => Promise<unknown>;
  /** Measures the age of the members. */
  measure: () => Promise<void>;
  log: Log;
  now: () => number;
  /** Stops the worker; it gives its current audience back. */
  signal: AbortSignal;
}

const IDLE_MS = 1000;
const SYNCHRONISE_MS = 2000;
const MEASURE_MS = 15_000;
const SWEEP_MS = 60_000;
const FAILED_SECONDS = 10;
/** Longest computation of one audience, ms; below its lease. */
const LIMIT_MS = 90_000;

/** Audiences of different accounts that are computed at once: a slow one delays few others. */
const CONCURRENCY = 4;

/**
 * Computes the members of the audiences of live on-site campaigns, one of an account at a time,
 * until the signal aborts. Several processes may run workers: an audience belongs to the one that
 * claimed it.
 */
export async function runAudienceWorker(options: AudienceWorkerOptions): Promise<void> {
  const { store, log, signal } = options;
  /** By account. */
  const computing = new Map<number, Promise<void>>();
  const begin = (claimed: ClaimedAudience) => {
    const { accountId } = claimed;
    computing.set(
      accountId,
      compute(claimed, options).finally(() => computing.delete(accountId)),
    );
  };
  const found = { audiences: true };
  const synchronise = every(SYNCHRONISE_MS, options.now, async () => {
    found.audiences = await store.synchronise();
  });
  const sweep = every(SWEEP_MS, options.now, options.sweepShown);
  const measure = every(MEASURE_MS, options.now, options.measure);
  const isEnding = () => signal.aborted;
  while (!isEnding()) {
    try {
      await synchronise();
      await measure();
      await sweep();
      while (found.audiences && computing.size < CONCURRENCY && !isEnding()) {
        const claimed = await store.claim([...computing.keys()]);
        if (!claimed) break;
        begin(claimed);
      }
    } catch (error) {
      if (isEnding()) break;
      log.warn(
        { err: error, code: 'onsite_audience_store' },
        'the audiences of on-site campaigns are unavailable in PostgreSQL; retrying',
      );
    }
    const pause = delay(IDLE_MS, signal).catch(() => undefined);
    await Promise.race([pause, ...computing.values()]);
  }
  await Promise.all(computing.values());
}

/** The step, at most once in this time. */
function every(
  ms: number,
  now: () => number,
  step: () => Promise<unknown>,
): () => Promise<unknown> {
  let at = -Infinity;
  return async () => {
    if (now() - at < ms) return;
    await step();
    at = now();
  };
}

async function compute(claimed: ClaimedAudience, options: AudienceWorkerOptions): Promise<void> {
  const { store, log, now, signal } = options;
  const facts = { account: claimed.accountId, audience: claimed.audience };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const release = (seconds: number) =>
    store.release(claimed, seconds).catch((error: unknown) => {
      log.debug({ err: error, ...facts }, 'an audience cannot be released: its lease ends it');
    });
  try {
    const computed = await computeAudience({ claimed, now: now(), signal: limit }, options);
    if (computed.outcome === 'empty')
      log.warn(
        { ...facts, reason: computed.reason, code: 'onsite_audience_empty' },
        'the audience of an on-site campaign has no members: narrow it, or end other campaigns of the account',
      );
  } catch (error) {
    await release(signal.aborted ? 0 : FAILED_SECONDS);
    if (signal.aborted) return;
    log.warn(
      { err: error, ...facts, code: 'onsite_audience_failed' },
      'the members of an on-site audience could not be read; those of before are used',
    );
  }
}
