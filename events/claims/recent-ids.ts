import { CLAIM_ID_BYTES, type ClaimId } from './claim-id.ts';

/** Words of a slot: the id, and one more than its receive time since the origin, ms; 0: empty. */
const SLOT_WORDS = 4;
const SLOT_BYTES = 4 * SLOT_WORDS;
const FIRST_SLOTS = 16;
/** Of an account, beside its slots. */
const ACCOUNT_BYTES = 256;
/** An account has at most two generations of this share of all bytes. */
const GENERATION_SHARE = 8;
/** The clock is set back by more than this: the origin was wrong, and a new generation begins. */
const MAX_CLOCK_STEP_MS = 5_000;
/** The time of a slot has 32 bits. */
const MAX_WINDOW_MS = 2 ** 32 - 2;

/** Ids that were added one after the other: a hash table with linear probing. */
interface Generation {
  /** Unix ms. */
  readonly origin: number;
  words: Uint32Array;
  ids: number;
}

/**
 * Odd random multipliers of two words of an id. Clients choose message ids, and their hash has no
 * key: without secret multipliers chosen ids would lie side by side and make searches long.
 */
export type SlotKeys = readonly [number, number];

interface AccountIds {
  young: Generation;
  old: Generation | undefined;
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
    this.#keys = [keys[0] | 1, keys[1] | 1];
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
    return Math.max(0, ...all.map(({ words }) => longestSearch(words, this.#keys)));
  }

  /** True when the account has the id, received less than the window before or after `at`. */
  has(account: number, id: ClaimId, at: number): boolean {
    return this.addedAt(account, id, at) !== undefined;
  }

  /** The earliest time, Unix ms, less than the window before or after `at`; undefined: none. */
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
    const sinceOrigin = at - known.young.origin;
    if (sinceOrigin >= this.#windowMs || sinceOrigin < -MAX_CLOCK_STEP_MS) {
      this.#turn(known, at, FIRST_SLOTS);
      this.#makeRoom(account);
    } else if (isFull(known.young)) {
      const slots = slotsOf(known.young);
      if (slots < this.#maxSlots) this.#grow(known.young, 2 * slots);
      else this.#turn(known, at, slots);
      this.#makeRoom(account);
    }
    // A little before the origin, after the clock was set back: it cannot be stored. Of an id that
    // was added twice within the window the earlier time counts: the later event may be no row.
    if (at >= known.young.origin && this.#timeOf(known.young, id, at) === undefined)
      this.#insert(known.young, id, at - known.young.origin + 1);
  }

  clear(): void {
    this.#accounts.clear();
    this.#bytes = 0;
  }

  #timeOf(generation: Generation, id: ClaimId, at: number): number | undefined {
    const stored = this.#find(generation, id);
    const time = generation.origin + stored - 1;
    return stored > 0 && Math.abs(at - time) < this.#windowMs ? time : undefined;
  }

  /** The stored time of an id; 0: it is not there. */
  #find({ words }: Generation, id: ClaimId): number {
    return words[search(words, wordsOf(id), this.#keys) + 3] ?? 0;
  }

  #insert(generation: Generation, id: ClaimId, time: number): void {
    const { words } = generation;
    const of = wordsOf(id);
    const at = search(words, of, this.#keys);
    if (words[at + 3] === 0) generation.ids++;
    words.set(of, at);
    words[at + 3] = time;
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
      const { words } = generation;
      const free = search(
        words,
        [before[at] ?? 0, before[at + 1] ?? 0, before[at + 2] ?? 0],
        this.#keys,
      );
      for (let word = 0; word < SLOT_WORDS; word++) words[free + word] = before[at + word] ?? 0;
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

type IdWords = readonly [number, number, number];

const wordsOf = (id: ClaimId): IdWords => [wordOf(id, 0), wordOf(id, 1), wordOf(id, 2)];

/** Where the search of an id begins: the high bits, which depend on all bits of both words. */
function homeOf(words: Uint32Array, [first, second]: IdWords, keys: SlotKeys): number {
  const hash = Math.imul(first, keys[0]) + Math.imul(second, keys[1]);
  return (hash >>> (Math.clz32(words.length / SLOT_WORDS) + 1)) * SLOT_WORDS;
}

/** The slot of an id, or the empty one where it belongs. */
function search(words: Uint32Array, id: IdWords, keys: SlotKeys): number {
  const mask = words.length - 1;
  let at = homeOf(words, id, keys);
  while (words[at + 3] !== 0) {
    if (words[at] === id[0] && words[at + 1] === id[1] && words[at + 2] === id[2]) break;
    at = (at + SLOT_WORDS) & mask;
  }
  return at;
}

function longestSearch(words: Uint32Array, keys: SlotKeys): number {
  let longest = 0;
  for (let at = 0; at < words.length; at += SLOT_WORDS) {
    if (words[at + 3] === 0) continue;
    const home = homeOf(words, [words[at] ?? 0, words[at + 1] ?? 0, words[at + 2] ?? 0], keys);
    longest = Math.max(longest, ((at - home) & (words.length - 1)) / SLOT_WORDS + 1);
  }
  return longest;
}
