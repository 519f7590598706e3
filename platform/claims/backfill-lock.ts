import type { ScriptRunner } from './script-runner.ts';
import {
  beginBackfillScript,
  drainedScript,
  endBackfillScript,
  recordedEndsScript,
  renewLockScript,
} from './backfill-scripts.ts';

/** The lock expires when its holder crashes; another process then starts over. */
export const BACKFILL_LOCK_MS = 30_000;

export type LockAttempt =
  | { readonly status: 'loaded'; readonly marker: string }
  /** Another process backfills with `lock`. */
  | { readonly status: 'busy'; readonly lock: string }
  | { readonly status: 'granted'; readonly lock: string };

/**
 * Script calls of the backfill protocol. Lock and marker end in the run_id of the Redis they were
 * set in, and are void in any other run.
 */
export class BackfillLock {
  readonly #scripts: ScriptRunner;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  async begin(nonce: string): Promise<LockAttempt> {
    const [status, value] = replyList(
      await this.#scripts.run(beginBackfillScript, nonce, BACKFILL_LOCK_MS),
    ).map(text);
    if (value === undefined) throw new TypeError('the begin-backfill script did not answer');
    if (status === 'loaded') return { status, marker: value };
    if (status === 'busy' || status === 'granted') return { status, lock: value };
    throw new TypeError(`the begin-backfill script answered ${status ?? 'nothing'}`);
  }

  /** False when the lock is lost. */
  async renew(lock: string): Promise<boolean> {
    return Number(await this.#scripts.run(renewLockScript, lock, BACKFILL_LOCK_MS)) === 1;
  }

  /**
   * Sets a new marker and releases the lock. Resolves with the marker, null when the lock is lost.
   */
  async finish(lock: string, nonce: string): Promise<string | null> {
    const marker = await this.#scripts.run(endBackfillScript, lock, nonce);
    return marker == null ? null : text(marker);
  }

  /** The recorded ends of events.normalised by partition key; null when the lock is lost. */
  async recordedEnds(lock: string): Promise<ReadonlyMap<string, number> | null> {
    const reply = await this.#scripts.run(recordedEndsScript, lock);
    if (!Array.isArray(reply)) return null;
    const texts = reply.map(text);
    return new Map(
      texts.flatMap((key, at) => (at % 2 === 0 ? [[key, Number(texts[at + 1])] as const] : [])),
    );
  }

  /** Releases the lock without setting a marker. */
  async abandon(lock: string): Promise<void> {
    await this.#scripts.run(endBackfillScript, lock, '');
  }

  /**
   * Reports that nothing of these partitions is in flight. Resolves with all partitions reported in
   * this backfill; null when another backfill has started.
   */
  async reportDrained(
    lock: string,
    partitions: readonly string[],
  ): Promise<ReadonlySet<string> | null> {
    const reply = await this.#scripts.run(drainedScript, lock, ...partitions);
    return Array.isArray(reply) ? new Set(reply.map(text)) : null;
  }
}

/** Key of a partition in the backfill protocol and in the progress of the sweep. */
export function partitionKey(epoch: number, partition: number | ''): string {
  return `${epoch}:${partition}`;
}

function replyList(reply: unknown): unknown[] {
  if (!Array.isArray(reply))
    throw new TypeError('a script of the backfill protocol did not answer with a list');
  return reply;
}

function text(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : String(value);
}
