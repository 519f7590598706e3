import { CLAIM_ID_BYTES, type ClaimId } from './claim-id.ts';

/** Words of a slot: the id, and one more than its receive time since the origin, ms; 0: empty. */
const SLOT_WORDS = 4;
const SLOT_BYTES = 4 * SLOT_WORDS;
const FIRST_SLOTS = 16;
/** Of an account, beside its slots. */
const ACCOUNT_BYTES = 256;
/** An account has at most two generations of this share of all bytes. */
const GENERATION_SHARE = 8;
/** The time of a slot has 32 bits. */
const MAX_WINDOW_MS = 2 ** 32 - 2;

/** Ids that were added one after the other: a hash table with linear probing. */
interface Generation {
  /** Unix ms. */
  readonly origin: number;
  words: Uint32Array;
  ids: number;
}

interface AccountIds {
  young: Generation;
  old: Generation | undefined;
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
  readonly #accounts = new Map<number, AccountIds>();
  #bytes = 0;

  /** @param windowMs DEDUPE_TTL */
  constructor({ maxBytes, windowMs }: { maxBytes: number; windowMs: number }) {
    this.#maxBytes = maxBytes;
    this.#windowMs = Math.min(windowMs, MAX_WINDOW_MS);
    const most = Math.max(FIRST_SLOTS, maxBytes / GENERATION_SHARE / SLOT_BYTES);
    this.#maxSlots = 2 ** Math.floor(Math.log2(most));
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** True when the account has the id, received less than the window before or after `at`. */
  has(account: number, id: ClaimId, at: number): boolean {
    return this.addedAt(account, id, at) !== undefined;
  }

  /** The earliest time, Unix ms, less than the window before or after `at`; undefined: not known. */
  addedAt(account: number, id: ClaimId, at: number): number | undefined {
    const known = this.#accounts.get(account);
    if (!known) return undefined;
    const old = known.old && this.#timeOf(known.old, id, at);
    return old ?? this.#timeOf(known.young, id, at);
  }

  /** @param at receive time, Unix ms */
  add(account: number, id: ClaimId, at: number): void {
    let known = this.#accounts.get(account);
    if (!known) {
      known = { young: this.#generation(at, FIRST_SLOTS), old: undefined };
      this.#accounts.set(account, known);
      this.#bytes += ACCOUNT_BYTES;
      this.#makeRoom(account);
    }
    if (at - known.young.origin >= this.#windowMs) this.#turn(known, at, FIRST_SLOTS);
    else if (isFull(known.young)) {
      const slots = slotsOf(known.young);
      if (slots < this.#maxSlots) this.#grow(known.young, 2 * slots);
      else this.#turn(known, at, slots);
      this.#makeRoom(account);
    }
    // Before the origin, after the clock was set back: it cannot be stored. Of an id that was added
    // twice within the window the earlier time counts: the later event may have been no row.
    if (at >= known.young.origin && this.#timeOf(known.young, id, at) === undefined)
      insert(known.young, id, at - known.young.origin + 1);
  }

  clear(): void {
    this.#accounts.clear();
    this.#bytes = 0;
  }

  #timeOf(generation: Generation, id: ClaimId, at: number): number | undefined {
    const stored = find(generation, id);
    const time = generation.origin + stored - 1;
    return stored > 0 && Math.abs(at - time) < this.#windowMs ? time : undefined;
  }

  #generation(origin: number, slots: number): Generation {
    this.#bytes += slots * SLOT_BYTES;
    return { origin, words: new Uint32Array(slots * SLOT_WORDS), ids: 0 };
  }

  /** The young ids become the old ones, which are forgotten. */
  #turn(account: AccountIds, at: number, slots: number): void {
    this.#forget(account.old);
    account.old = account.young;
    account.young = this.#generation(at, slots);
  }

  #forget(generation: Generation | undefined): void {
    if (generation) this.#bytes -= generation.words.byteLength;
  }

  #grow(generation: Generation, slots: number): void {
    const { words: before } = generation;
    generation.words = new Uint32Array(slots * SLOT_WORDS);
    this.#bytes += generation.words.byteLength - before.byteLength;
    for (let at = 0; at < before.length; at += SLOT_WORDS) {
      if (before[at + 3] === 0) continue;
      const free = freeSlot(generation.words, before[at] ?? 0);
      for (let word = 0; word < SLOT_WORDS; word++)
        generation.words[free + word] = before[at + word] ?? 0;
    }
  }

  /** @param adding the account that gets an id now */
  #makeRoom(adding: number): void {
    while (this.#bytes > this.#maxBytes) {
      let [most, largest]: [number, number] = [adding, -1];
      for (const [account, ids] of this.#accounts) {
        const bytes = ids.young.words.byteLength + (ids.old?.words.byteLength ?? 0);
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

function slotsOf({ words }: Generation): number {
  return words.length / SLOT_WORDS;
}

/** A table with a quarter of its slots empty ends every search soon. */
function isFull(generation: Generation): boolean {
  return generation.ids * 4 >= slotsOf(generation) * 3;
}

/** One of the three words of an id. */
function wordOf(id: ClaimId, word: number): number {
  const at = (CLAIM_ID_BYTES / 3) * word;
  return (
    (id.charCodeAt(at) |
      (id.charCodeAt(at + 1) << 8) |
      (id.charCodeAt(at + 2) << 16) |
      (id.charCodeAt(at + 3) << 24)) >>>
    0
  );
}

/** The stored time of an id; 0: it is not there. */
function find({ words }: Generation, id: ClaimId): number {
  const first = wordOf(id, 0);
  const mask = words.length - 1;
  for (let at = (first * SLOT_WORDS) & mask; ; at = (at + SLOT_WORDS) & mask) {
    const time = words[at + 3] ?? 0;
    if (time === 0) return 0;
    if (words[at] === first && words[at + 1] === wordOf(id, 1) && words[at + 2] === wordOf(id, 2))
      return time;
  }
}

function insert(generation: Generation, id: ClaimId, time: number): void {
  const { words } = generation;
  const [first, second, third] = [wordOf(id, 0), wordOf(id, 1), wordOf(id, 2)];
  const mask = words.length - 1;
  let at = (first * SLOT_WORDS) & mask;
  while (words[at + 3] !== 0) {
    if (words[at] === first && words[at + 1] === second && words[at + 2] === third) break;
    at = (at + SLOT_WORDS) & mask;
  }
  if (words[at + 3] === 0) generation.ids++;
  words[at] = first;
  words[at + 1] = second;
  words[at + 2] = third;
  words[at + 3] = time;
}

function freeSlot(words: Uint32Array, first: number): number {
  const mask = words.length - 1;
  let at = (first * SLOT_WORDS) & mask;
  while (words[at + 3] !== 0) at = (at + SLOT_WORDS) & mask;
  return at;
}
