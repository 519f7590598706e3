/** Rows and the bytes of their payloads. */
export interface Size {
  rows: number;
  bytes: number;
}

/** The deliveries of a relay that are stored with their payloads. */
export interface RelayQueue {
  relayId: number;
  accountId: number;
  pending: Size;
  dead: Size;
}

type State = 'pending' | 'dead';
type Sizes = Record<State, Size>;

/** Relays and accounts with their sizes. */
class Sums {
  readonly #relays = new Map<number, Sizes>();
  readonly #accounts = new Map<number, Sizes>();

  add({ relayId, accountId }: Owner, state: State, size: Size): void {
    for (const sizes of [of(this.#relays, relayId), of(this.#accounts, accountId)]) {
      sizes[state].rows += size.rows;
      sizes[state].bytes += size.bytes;
    }
  }

  read(owner: Owner, state: State): { relay: Size; account: Size } {
    return {
      relay: this.#relays.get(owner.relayId)?.[state] ?? EMPTY,
      account: this.#accounts.get(owner.accountId)?.[state] ?? EMPTY,
    };
  }
}

interface Owner {
  relayId: number;
  accountId: number;
}

const EMPTY: Size = { rows: 0, bytes: 0 };

/**
 * Bounds the stored deliveries of each account and relay in rows and bytes: as many may be pending
 * as dead, and a relay gets at most half of its account's. It adds what this process stores to the
 * last counts of PostgreSQL; for a short time it counts some rows twice, never too few.
 */
export class QueueBounds {
  readonly #limits: Size;
  #counted = new Sums();
  /** Stored since the last reading began, and between it and the one before. */
  #added = new Sums();
  #addedBefore = new Sums();

  /** @param limits of an account */
  constructor(limits: Size) {
    this.#limits = limits;
  }

  /** Call it before the counts are read: what is stored meanwhile may not be in them. */
  startReading(): void {
    this.#addedBefore = this.#added;
    this.#added = new Sums();
  }

  update(queues: Iterable<RelayQueue>): void {
    this.#counted = new Sums();
    for (const queue of queues)
      for (const state of ['pending', 'dead'] as const)
        this.#counted.add(queue, state, queue[state]);
  }

  /** Whether the relay and its account may store more deliveries in this state. */
  hasRoom(owner: Owner, state: State): boolean {
    const parts = [this.#counted, this.#addedBefore, this.#added].map((sums) =>
      sums.read(owner, state),
    );
    const { rows, bytes } = this.#limits;
    return (['relay', 'account'] as const).every((level) => {
      const share = level === 'relay' ? 2 : 1;
      const total = (kind: keyof Size) => parts.reduce((sum, part) => sum + part[level][kind], 0);
      return total('rows') < rows / share && total('bytes') < bytes / share;
    });
  }

  add(owner: Owner, state: State, bytes: number): void {
    this.#added.add(owner, state, { rows: 1, bytes });
  }
}

function of(map: Map<number, Sizes>, id: number): Sizes {
  const found = map.get(id) ?? { pending: { ...EMPTY }, dead: { ...EMPTY } };
  map.set(id, found);
  return found;
}
