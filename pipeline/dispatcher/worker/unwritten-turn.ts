import type { Retry, Turn } from '../chunk/chunk-state.ts';
import type { RecipientOutcome } from './ports.ts';

/** A turn with what it writes beside the chunk. */
export interface PlannedTurn {
  turn: Turn;
  /** Of those whom it finishes. */
  outcomes: readonly RecipientOutcome[];
  /** Reservations of the frequency cap for messages that are certainly not sent. */
  capReleases: readonly CapRelease[];
}

export interface CapRelease {
  index: number;
  /** Who holds the reservation. */
  capOf: string;
}

/** Until when somebody waits, ms since the epoch. */
interface Wait {
  index: number;
  at: number;
}

/** What has happened to recipients of a chunk and is not durable yet: the next turn. */
export class UnwrittenTurn {
  #outcomes: RecipientOutcome[] = [];
  #retries: Retry[] = [];
  #repeats: Retry[] = [];
  #capReleases: CapRelease[] = [];
  /**
   * Those whose reservations are among the releases: they get new ones only after these are
   * durable.
   */
  #releasedWaits: Wait[] = [];

  get size(): number {
    const turns = this.#outcomes.length + this.#retries.length + this.#repeats.length;
    return turns + this.#capReleases.length;
  }

  finish(outcome: RecipientOutcome): void {
    this.#outcomes.push(outcome);
  }

  /** It is certainly not sent: unopened again. */
  retry(retry: Retry): void {
    this.#retries.push(retry);
  }

  /** It stays opened. */
  repeat(retry: Retry): void {
    this.#repeats.push(retry);
  }

  releaseCap(release: CapRelease): void {
    this.#capReleases.push(release);
  }

  waitAfterRelease(wait: Wait): void {
    this.#releasedWaits.push(wait);
  }

  /** @param opens whom it opens */
  take(opens: readonly number[]): { planned: PlannedTurn; releasedWaits: readonly Wait[] } {
    const turn: Turn = {
      opens,
      finishes: this.#outcomes.map(({ index }) => index),
      retries: this.#retries,
      repeats: this.#repeats,
    };
    const planned = { turn, outcomes: this.#outcomes, capReleases: this.#capReleases };
    const releasedWaits = this.#releasedWaits;
    [this.#outcomes, this.#retries, this.#repeats] = [[], [], []];
    [this.#capReleases, this.#releasedWaits] = [[], []];
    return { planned, releasedWaits };
  }

  /** Those who are not to be tried again: of them `retried` were opened, and are not sent. */
  takeLater(): { retried: number[]; waiting: number[] } {
    const retried = this.#retries.map(({ index }) => index);
    const waiting = this.#releasedWaits.map(({ index }) => index);
    [this.#retries, this.#releasedWaits] = [[], []];
    return { retried, waiting };
  }
}
