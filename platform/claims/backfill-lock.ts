import type { ScriptRunner } from './script-runner.ts';
import {
  beginBackfillScript,
  drainedScript,
  endBackfillScript,
  renewLockScript,
} from './backfill-scripts.ts';

/** A filler that says nothing for so long has died; another one begins again. */
export const BACKFILL_LOCK_MS = 30_000;

export type LockAttempt =
  | { readonly turn: 'filled'; readonly marker: string }
  /** Another process fills; `lock` names its fill. */
  | { readonly turn: 'busy'; readonly lock: string }
  | { readonly turn: 'granted'; readonly lock: string };

/**
 * The calls of the fill protocol. The lock and the marker end in the run_id of the Redis they were
 * set in, and are worth nothing in any other run.
 */
export class BackfillLock {
  readonly #run: ScriptRunner;

  constructor(run: ScriptRunner) {
    this.#run = run;
  }

  async begin(nonce: string): Promise<LockAttempt> {
    const [turn, value] = replyList(
      await this.#run.run(beginBackfillScript, nonce, BACKFILL_LOCK_MS),
    ).map(text);
    if (value === undefined) throw new TypeError('the begin-fill script did not answer');
    if (turn === 'filled') return { turn, marker: value };
    if (turn === 'busy' || turn === 'granted') return { turn, lock: value };
    throw new TypeError(`the begin-fill script answered ${turn ?? 'nothing'}`);
  }

  /** False: the lock is lost. */
  async renew(lock: string): Promise<boolean> {
    return Number(await this.#run.run(renewLockScript, lock, BACKFILL_LOCK_MS)) === 1;
  }

  /**
   * Sets a new marker and gives the lock up. Resolves with the marker, null when the lock was lost
   * before.
   */
  async finish(lock: string, nonce: string): Promise<string | null> {
    const marker = await this.#run.run(endBackfillScript, lock, nonce);
    return marker == null ? null : text(marker);
  }

  /** Gives the lock up without a marker. */
  async abandon(lock: string): Promise<void> {
    await this.#run.run(endBackfillScript, lock, '');
  }

  /**
   * Says that nothing of these partitions is in flight. Resolves with all partitions of which that
   * was said in this fill; null: it is another fill by now.
   */
  async drained(lock: string, names: readonly string[]): Promise<ReadonlySet<string> | null> {
    const reply = await this.#run.run(drainedScript, lock, ...names);
    return Array.isArray(reply) ? new Set(reply.map(text)) : null;
  }
}

/** How partitions are named in the fill protocol and in the sweep's progress. */
export function partitionName(epoch: number, partition: number): string {
  return `${epoch}:${partition}`;
}

function replyList(reply: unknown): unknown[] {
  if (!Array.isArray(reply))
    throw new TypeError('a script of the fill protocol did not answer with a list');
  return reply;
}

function text(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : String(value);
}
