import { cpus } from 'node:os';
import { delay } from '../../../platform/backoff.ts';

/** A second stack starts when so much of the processors' time is unused. */
const MIN_IDLE = 0.25;
/** How long that is measured, ms. */
const MEASURED_MS = 10_000;

/**
 * One stack of tests runs at a time, and more while the machine has time for them: where processors
 * are busy, a stack beside another one does not end earlier, and each waits beyond the bounds of
 * its tests.
 * @param idleShare the unused part of the processors' time in the next ms, 0 to 1
 */
export class StackScheduler {
  readonly #idleShare: (ms: number, signal: AbortSignal) => Promise<number>;
  #running = 0;

  constructor(idleShare = unusedShare) {
    this.#idleShare = idleShare;
  }

  /** Waits until a stack may start; the first may at once. Rejects only when the work does. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#running > 0 && !signal.aborted)
      if ((await this.#idleShare(MEASURED_MS, signal)) >= MIN_IDLE) break;
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
    }
  }
}

export async function unusedShare(ms: number, signal: AbortSignal): Promise<number> {
  const before = times();
  await delay(ms, signal).catch(() => undefined);
  const after = times();
  return (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

function times(): { idle: number; all: number } {
  const all = cpus().map((one) => one.times);
  const sum = (of: readonly number[]) => of.reduce((total, ms) => total + ms, 0);
  return {
    idle: sum(all.map(({ idle }) => idle)),
    all: sum(all.flatMap((one) => Object.values(one))),
  };
}
