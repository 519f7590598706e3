import type { ScriptRunner } from './script-runner.ts';
import {
  drainedScript,
  finishScript,
  lockScript,
  markerScript,
  permitScript,
  recordedEndsScript,
  renewLockScript,
  renewPermitScript,
  unlockScript,
} from './backfill-scripts.ts';

/** The lock expires when its holder crashes; another process then starts over. */
export const BACKFILL_LOCK_MS = 30_000;

export interface LockAttempt {
  /** busy: another process backfills with `lock`. */
  readonly status: 'busy' | 'granted';
  readonly lock: string;
}

/** Permission to load one shard, given to the holder of the lock. */
export interface LoadPermit {
  readonly shard: number;
  readonly permit: string;
}

/**
 * Script calls of the backfill protocol. One lock is for all shards, on the first of them; each
 * shard that is loaded has a permit, which a later holder of the lock replaces. Lock, permits and
 * markers end in the run_id of the Redis they were set in, and are void in any other run.
 */
export class BackfillLock {
  readonly #shards: readonly ScriptRunner[];

  constructor(shards: readonly ScriptRunner[]) {
    this.#shards = shards;
  }

  /** The marker of each shard; undefined: it does not hold the loaded claims. */
  async markers(): Promise<readonly (string | undefined)[]> {
    const markers = await Promise.all(this.#shards.map((shard) => shard.run(markerScript)));
    return markers.map((marker) => text(marker) || undefined);
  }

  async begin(nonce: string): Promise<LockAttempt> {
    const [status, lock] = replyList(
      await this.#shard(0).run(lockScript, nonce, BACKFILL_LOCK_MS),
    ).map(text);
    if (lock === undefined || (status !== 'busy' && status !== 'granted'))
      throw new TypeError(`the lock script answered ${status ?? 'nothing'}`);
    return { status, lock };
  }

  /**
   * Permits for the shards that do not hold the loaded claims, or for all of them. They hold none
   * from then on.
   */
  async permits(lock: string, { all }: { readonly all: boolean }): Promise<readonly LoadPermit[]> {
    const permits = await Promise.all(
      this.#shards.map((shard) => shard.run(permitScript, lock, BACKFILL_LOCK_MS, all ? 1 : 0)),
    );
    return permits.flatMap((reply, shard) => {
      const permit = text(reply);
      return permit === '' ? [] : [{ shard, permit }];
    });
  }

  /** False when the lock, or one of the permits, is lost. */
  async renew(lock: string, permits: readonly LoadPermit[]): Promise<boolean> {
    const renewed = await Promise.all([
      this.#shard(0).run(renewLockScript, lock, BACKFILL_LOCK_MS),
      ...permits.map(({ shard, permit }) =>
        this.#shard(shard).run(renewPermitScript, permit, BACKFILL_LOCK_MS),
      ),
    ]);
    return renewed.every((one) => Number(one) === 1);
  }

  /** Sets a new marker; false when the permit is void. */
  async finish({ shard, permit }: LoadPermit, nonce: string): Promise<boolean> {
    return text(await this.#shard(shard).run(finishScript, permit, nonce)) !== '';
  }

  /** The recorded ends of events.normalised by partition key; null when the permit is void. */
  async recordedEnds({ shard, permit }: LoadPermit): Promise<ReadonlyMap<string, number> | null> {
    const reply = await this.#shard(shard).run(recordedEndsScript, permit);
    if (!Array.isArray(reply)) return null;
    const texts = reply.map(text);
    return new Map(
      texts.flatMap((key, at) => (at % 2 === 0 ? [[key, Number(texts[at + 1])] as const] : [])),
    );
  }

  async release(lock: string): Promise<void> {
    await this.#shard(0).run(unlockScript, lock);
  }

  /**
   * Reports that nothing of these partitions is in flight. Resolves with all partitions reported in
   * this backfill; null when another backfill has started.
   */
  async reportDrained(
    lock: string,
    partitions: readonly string[],
  ): Promise<ReadonlySet<string> | null> {
    const reply = await this.#shard(0).run(drainedScript, lock, ...partitions);
    return Array.isArray(reply) ? new Set(reply.map(text)) : null;
  }

  #shard(shard: number): ScriptRunner {
    const runner = this.#shards[shard];
    if (!runner) throw new RangeError(`the claims have no shard ${shard}`);
    return runner;
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
