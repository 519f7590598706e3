import { ID_WORDS, type ClaimWords } from './claim-words.ts';
import {
  bytesOf,
  copySlots,
  emptySlots,
  longestSearch,
  SLOT_BYTES,
  slotKeys,
  slotOf,
  timeAt,
  writeSlot,
  type IdSlots,
  type SlotKeys,
} from './id-slots.ts';

const FIRST_SLOTS = 16;
/** Of an account, beside its slots. */
const ACCOUNT_BYTES = 256;
/** An account has at most two generations, whose words take this share of all bytes each. */
const GENERATION_SHARE = 8;
/** The clock is set back by more than this: the origin was wrong, and a new generation begins. */
const MAX_CLOCK_STEP_MS = 5_000;
/** The time of a slot has 32 bits. */
const MAX_WINDOW_MS = 2 ** 32 - 2;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded */

/** Ids that were added one after the other. */
interface Generation extends IdSlots {
  /** Unix ms. */
  readonly origin: number;
  ids: number;
}

interface AccountIds {
  young: Generation;
  old: Generation | undefined;
}

/** One id of a request. */
interface IdAt {
  readonly ids: ClaimWords;
  readonly position: number;
}

interface RecentIdsOptions {
  readonly maxBytes: number;
  readonly windowMs: number;
  readonly keys: SlotKeys;
}

/**
 * The ids of the events that became durable last, by account, in bounded memory. What it says of an
 * id is true; what it does not know it does not deny. An account loses its older ids once it has
 * many, and when all together have too many, the account that has most.
 */
export class RecentIds {
  readonly #maxBytes: number;
  readonly #windowMs: number;
  readonly #maxSlots: number;
  readonly #keys: SlotKeys;
  readonly #accounts = new Map<number, AccountIds>();
  #bytes = 0;

  /**
   * @param windowMs DEDUPE_TTL
   * @param keys random numbers below 2^32
   */
  constructor({ maxBytes, windowMs, keys }: RecentIdsOptions) {
    this.#keys = slotKeys(keys);
    this.#maxBytes = maxBytes;
    this.#windowMs = Math.min(windowMs, MAX_WINDOW_MS);
    const most = Math.max(FIRST_SLOTS, maxBytes / GENERATION_SHARE / SLOT_BYTES);
    this.#maxSlots = 2 ** Math.floor(Math.log2(most));
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Slots that the longest search of a stored id reads; it walks all slots. */
  get longestSearch(): number {
    const all = [...this.#accounts.values()].flatMap(({ young, old }) => [young, old ?? []].flat());
    return Math.max(0, ...all.map((generation) => longestSearch(generation, this.#keys)));
  }

  /** True when the account has one of the ids, of less than the window before or after `at`. */
  hasAny(account: number, ids: ClaimWords, at: number): boolean {
    const known = this.#accounts.get(account);
    if (!known) return false;
    const end = ids.from + ids.count * ID_WORDS;
    for (let from = ids.from; from < end; from += ID_WORDS)
      if (this.#timeIn(known, ids.words, from, at) !== undefined) return true;
    return false;
  }

  /**
   * When the id at a position was added: the earliest time, Unix ms, less than the window before or
   * after `at`; undefined: none.
   */
  addedAt(account: number, { ids, position }: IdAt, at: number): number | undefined {
    const known = this.#accounts.get(account);
    return known && this.#timeIn(known, ids.words, ids.from + position * ID_WORDS, at);
  }

  /**
   * @param at receive time, Unix ms
   * @param positions of those that are added; undefined: all
   */
  add(account: number, ids: ClaimWords, at: number, positions?: readonly number[]): void {
    const count = positions ? positions.length : ids.count;
    if (count === 0) return;
    const known = this.#accounts.get(account) ?? this.#open(account, at);
    for (let next = 0; next < count; next++) {
      this.#makeReady(account, known, at);
      // A little before the origin, after the clock was set back: it cannot be stored.
      if (at < known.young.origin) continue;
      const position = positions ? positions[next]! : next;
      this.#insert(known.young, ids.words, ids.from + position * ID_WORDS, at);
    }
  }

  clear(): void {
    this.#accounts.clear();
    this.#bytes = 0;
  }

  #open(account: number, at: number): AccountIds {
    const known: AccountIds = { young: this.#generation(at, FIRST_SLOTS), old: undefined };
    this.#accounts.set(account, known);
    this.#bytes += ACCOUNT_BYTES;
    this.#makeRoom(account);
    return known;
  }

  /** The young generation gets room for an id. */
  #makeReady(account: number, known: AccountIds, at: number): void {
    const sinceOrigin = at - known.young.origin;
    if (sinceOrigin >= this.#windowMs || sinceOrigin < -MAX_CLOCK_STEP_MS)
      this.#turn(known, at, FIRST_SLOTS);
    else if (!isFull(known.young)) return;
    else {
      const slots = slotsOf(known.young);
      if (slots < this.#maxSlots) this.#grow(known.young, 2 * slots);
      else this.#turn(known, at, slots);
    }
    this.#makeRoom(account);
  }

  /** The stored time of the id whose words begin at `from`. */
  #timeIn({ young, old }: AccountIds, words: Int32Array, from: number, at: number) {
    const before = old && this.#timeOf(old, words, from, at);
    return before ?? this.#timeOf(young, words, from, at);
  }

  #timeOf(generation: Generation, words: Int32Array, from: number, at: number): number | undefined {
    const slot = slotOf(generation, words, from, this.#keys);
    return generation.tags[slot] === 0 ? undefined : this.#timeAt(generation, slot, at);
  }

  #timeAt(generation: Generation, slot: number, at: number): number | undefined {
    const time = generation.origin + timeAt(generation, slot) - 1;
    return Math.abs(at - time) < this.#windowMs ? time : undefined;
  }

  /**
   * Of an id that was added twice within the window the earlier time counts: the later event may be
   * no row.
   */
  #insert(generation: Generation, ids: Int32Array, from: number, at: number): void {
    const slot = slotOf(generation, ids, from, this.#keys);
    if (generation.tags[slot] === 0) generation.ids++;
    else if (this.#timeAt(generation, slot, at) !== undefined) return;
    writeSlot(generation, slot, ids, from, at - generation.origin + 1);
  }

  #generation(origin: number, slots: number): Generation {
    const generation = { origin, ...emptySlots(slots), ids: 0 };
    this.#bytes += bytesOf(generation);
    return generation;
  }

  /** The young ids become the old ones, which are forgotten. */
  #turn(account: AccountIds, at: number, slots: number): void {
    this.#forget(account.old);
    account.old = account.young;
    account.young = this.#generation(at, slots);
  }

  #forget(generation: Generation | undefined): void {
    if (generation) this.#bytes -= bytesOf(generation);
  }

  #grow(generation: Generation, slots: number): void {
    const before = { ...generation };
    Object.assign(generation, emptySlots(slots));
    this.#bytes += bytesOf(generation) - bytesOf(before);
    copySlots(before, generation, this.#keys);
  }

  /** @param adding the account that gets an id now */
  #makeRoom(adding: number): void {
    while (this.#bytes > this.#maxBytes) {
      let [most, largest]: [number, number] = [adding, -1];
      for (const [account, ids] of this.#accounts) {
        const bytes = bytesOf(ids.young) + (ids.old ? bytesOf(ids.old) : 0);
        if (bytes > largest) [most, largest] = [account, bytes];
      }
      const ids = this.#accounts.get(most);
      if (!ids) return;
      if (ids.old) {
        this.#forget(ids.old);
        ids.old = undefined;
      } else if (most === adding) {
        if (slotsOf(ids.young) === FIRST_SLOTS) return;
        const { origin } = ids.young;
        this.#forget(ids.young);
        ids.young = this.#generation(origin, FIRST_SLOTS);
      } else {
        this.#forget(ids.young);
        this.#accounts.delete(most);
        this.#bytes -= ACCOUNT_BYTES;
      }
    }
  }
}

function slotsOf({ tags }: Generation): number {
  return tags.length;
}

/** A table with a quarter of its slots empty ends every search soon. */
function isFull(generation: Generation): boolean {
  return generation.ids * 4 >= slotsOf(generation) * 3;
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
