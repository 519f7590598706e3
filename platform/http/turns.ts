/** Who takes turns: an account, or the address of a client without one. */
export type TurnOwner = number | string;

/** Calls back, in a later round, when there is a turn. */
export type TakeTurn = (step: () => void) => void;

export interface TurnsOptions {
  /** Turns of one round. */
  perRound: number;
  /** Runs a function after the event loop has polled for I/O. */
  defer?: (round: () => void) => unknown;
}

/**
 * Work that is cut into short steps. Each step waits for a turn; a round gives a bounded number of
 * them, and between two rounds the event loop serves everything else. Owners take turns: one with
 * many steps delays another's by one step of each owner, however many it has. Nobody holds a turn
 * while a client is slow, so nothing needs a timeout. One request waits for one turn at a time.
 */
export class Turns {
  readonly #perRound: number;
  readonly #defer: (round: () => void) => unknown;
  /** Waiting steps by owner; the first owner is the next in turn. */
  readonly #waiting = new Map<TurnOwner, (() => void)[]>();
  #isDue = false;
  waiting = 0;
  /** Turns that were given. */
  given = 0;

  constructor({ perRound, defer = setImmediate }: TurnsOptions) {
    this.#perRound = perRound;
    this.#defer = defer;
  }

  /** Calls back, in a later round, when the owner has a turn. */
  take(owner: TurnOwner, step: () => void): void {
    const own = this.#waiting.get(owner);
    if (own) own.push(step);
    else this.#waiting.set(owner, [step]);
    this.waiting++;
    this.#schedule();
  }

  /** The turns of one owner. */
  of(owner: TurnOwner): TakeTurn {
    return (step) => this.take(owner, step);
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#defer(() => {
      this.#isDue = false;
      this.#round();
    });
  }

  #round(): void {
    for (let turn = 0; turn < this.#perRound && this.waiting > 0; turn++) this.#next();
    if (this.waiting > 0) this.#schedule();
  }

  #next(): void {
    for (const [owner, steps] of this.#waiting) {
      this.#waiting.delete(owner);
      const step = steps.shift();
      if (steps.length > 0) this.#waiting.set(owner, steps);
      this.waiting--;
      this.given++;
      return step?.();
    }
  }
}
