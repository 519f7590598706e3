import { CLAIM_ID_BYTES, type ClaimId } from './claim-id.ts';

/** Words of a slot: the id, and one more than its receive time since the origin, ms; 0: empty. */
const SLOT_WORDS = 4;
const FIRST_SLOTS = 16;
/** Of an account, beside its slots. */
const ACCOUNT_BYTES = 256;
/** An account has at most two generations, whose words take this share of all bytes each. */
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
  /**
   * A byte for each slot, 0 when it is empty. A search for an id that is not there reads these
   * alone: the processor has them in a cache, and the words in memory.
   */
  tags: Uint8Array;
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
    const most = Math.max(FIRST_SLOTS, maxBytes / GENERATION_SHARE / (4 * SLOT_WORDS));
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
    // A little before the origin, after the clock was set back: it cannot be stored.
    if (at >= known.young.origin) this.#insert(known.young, id, at);
  }

  clear(): void {
    this.#accounts.clear();
    this.#bytes = 0;
  }

  /** The stored time of an id, less than the window before or after `at`. */
  #timeOf(generation: Generation, id: ClaimId, at: number): number | undefined {
    const slot = search(generation, [wordOf(id, 0), wordOf(id, 1), wordOf(id, 2)], this.#keys);
    return generation.tags[slot] === 0 ? undefined : this.#timeAt(generation, slot, at);
  }

  #timeAt({ words, origin }: Generation, slot: number, at: number): number | undefined {
    const time = origin + (words[slot * SLOT_WORDS + 3] ?? 0) - 1;
    return Math.abs(at - time) < this.#windowMs ? time : undefined;
  }

  /**
   * Of an id that was added twice within the window the earlier time counts: the later event may be
   * no row.
   */
  #insert(generation: Generation, id: ClaimId, at: number): void {
    const words: IdWords = [wordOf(id, 0), wordOf(id, 1), wordOf(id, 2)];
    const slot = search(generation, words, this.#keys);
    if (generation.tags[slot] === 0) generation.ids++;
    else if (this.#timeAt(generation, slot, at) !== undefined) return;
    write(generation, slot, words, at - generation.origin + 1);
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
    for (let slot = 0; slot < slotsOf(before); slot++) {
      if (before.tags[slot] === 0) continue;
      const words = wordsAt(before, slot);
      const time = before.words[slot * SLOT_WORDS + 3] ?? 0;
      write(generation, search(generation, words, this.#keys), words, time);
    }
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

function emptySlots(slots: number): Pick<Generation, 'words' | 'tags'> {
  return { words: new Uint32Array(slots * SLOT_WORDS), tags: new Uint8Array(slots) };
}

function slotsOf({ tags }: Generation): number {
  return tags.length;
}

function bytesOf({ words, tags }: Generation): number {
  return words.byteLength + tags.byteLength;
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

function wordsAt({ words }: Generation, slot: number): IdWords {
  const at = slot * SLOT_WORDS;
  return [words[at] ?? 0, words[at + 1] ?? 0, words[at + 2] ?? 0];
}

function write({ words, tags }: Generation, slot: number, id: IdWords, time: number): void {
  const at = slot * SLOT_WORDS;
  tags[slot] = tagOf(id);
  words[at] = id[0];
  words[at + 1] = id[1];
  words[at + 2] = id[2];
  words[at + 3] = time;
}

/** Of the third word, because the place of a search follows from the other two. */
const tagOf = (id: IdWords): number => id[2] & 0xff || 1;

/** Where the search of an id begins: the high bits, which depend on all bits of both words. */
function homeOf(slots: number, [first, second]: IdWords, keys: SlotKeys): number {
  const hash = Math.imul(first, keys[0]) + Math.imul(second, keys[1]);
  return hash >>> (Math.clz32(slots) + 1);
}

/** The slot of an id, or the empty one where it belongs. */
function search({ words, tags }: Generation, id: IdWords, keys: SlotKeys): number {
  const mask = tags.length - 1;
  const tag = tagOf(id);
  let slot = homeOf(tags.length, id, keys);
  for (let found = tags[slot]; found !== 0; found = tags[slot]) {
    if (found === tag) {
      const at = slot * SLOT_WORDS;
      if (words[at] === id[0] && words[at + 1] === id[1] && words[at + 2] === id[2]) break;
    }
    slot = (slot + 1) & mask;
  }
  return slot;
}

function longestSearch(generation: Generation, keys: SlotKeys): number {
  const slots = slotsOf(generation);
  let longest = 0;
  for (let slot = 0; slot < slots; slot++) {
    if (generation.tags[slot] === 0) continue;
    const home = homeOf(slots, wordsAt(generation, slot), keys);
    longest = Math.max(longest, ((slot - home) & (slots - 1)) + 1);
  }
  return longest;
}
