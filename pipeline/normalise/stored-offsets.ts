import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { LogEnds } from './log-ends.ts';

/** Longest and shortest time between two looks, ms. */
const INTERVAL_MS = { most: 30_000, least: 1000 };

type Offsets = ReadonlyMap<number, number>;

const NONE: Offsets = new Map();

/**
 * Up to which offset of each partition of events.raw every row is stored. One look reads the
 * committed offsets of the normaliser and then the ends of events.normalised: what is below the
 * first is below the second, because commits follow acknowledgements. Once a later look finds that
 * events-sink has stored everything below these ends, everything below those offsets is stored.
 */
export class StoredOffsets {
  readonly #ends: Pick<LogEnds, 'committed' | 'normalised' | 'unstored'>;
  #next: { raw: Offsets; normalised: ReadonlyMap<number, { high: number }> } | undefined;
  #stored = NONE;
  #round = 0;

  constructor(ends: Pick<LogEnds, 'committed' | 'normalised' | 'unstored'>) {
    this.#ends = ends;
  }

  get stored(): Offsets {
    return this.#stored;
  }

  /** Rejects when Kafka does not answer. */
  async look(): Promise<void> {
    const round = this.#round;
    if (this.#next && (await this.#ends.unstored(this.#next.normalised)) === 0) {
      if (round !== this.#round) return;
      this.#stored = this.#next.raw;
      this.#next = undefined;
    }
    if (this.#next) return;
    const raw = await this.#ends.committed();
    const normalised = await this.#ends.normalised();
    if (round === this.#round) this.#next = { raw, normalised };
  }

  /** Looks again and again until the process stops. Never rejects. */
  async follow(of: { packAfter: number; log: Log; stopping: AbortSignal }): Promise<void> {
    const { packAfter, log, stopping } = of;
    const every = Math.min(INTERVAL_MS.most, Math.max(INTERVAL_MS.least, packAfter / 2));
    while (!stopping.aborted) {
      await this.look().catch((error: unknown) =>
        log.debug({ err: error }, 'cannot read what is stored; retrying'),
      );
      await delay(every, stopping).catch(() => undefined);
    }
  }

  /** The log may have gone back: what was read before says nothing about it any more. */
  forget(): void {
    this.#round++;
    this.#next = undefined;
    this.#stored = NONE;
  }
}
