import { ID_WORDS } from './claim-words.ts';

/** Words of a slot: the id, and one more than its receive time since the origin, ms; 0: empty. */
const SLOT_WORDS = ID_WORDS + 1;
/** Of the words of a slot; its tag is one more. */
export const SLOT_BYTES = 4 * SLOT_WORDS;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded */

/** Ids with their times: a hash table with linear probing, whose size is a power of two. */
export interface IdSlots {
  /** An unsigned number above 2^31 would be a number of 64 bits for V8. */
  words: Int32Array;
  /**
   * A byte for each slot, 0 when it is empty. A search for an id that is not there reads these
   * alone: the processor has them in a cache, and the words in memory.
   */
  tags: Uint8Array;
}

/**
 * Odd random multipliers of two words of an id. Clients choose message ids, and their hash has no
 * key: without secret multipliers chosen ids would lie side by side and make searches long.
 */
export type SlotKeys = readonly [number, number];

/** @param random numbers below 2^32 */
export function slotKeys([first, second]: readonly [number, number]): SlotKeys {
  return [first | 1, second | 1];
}

export function emptySlots(slots: number): IdSlots {
  return { words: new Int32Array(slots * SLOT_WORDS), tags: new Uint8Array(slots) };
}

export function bytesOf({ words, tags }: IdSlots): number {
  return words.byteLength + tags.byteLength;
}

/**
 * Where the search of an id begins: the high bits, which depend on all bits of both words.
 * @param slots a power of two
 */
export function homeOf(slots: number, first: number, second: number, keys: SlotKeys): number {
  const hash = Math.imul(first, keys[0]) + Math.imul(second, keys[1]);
  return hash >>> (Math.clz32(slots) + 1);
}

/** The slot of the id whose words begin at `from`, or the empty one where it belongs. */
export function slotOf(
  { words, tags }: IdSlots,
  ids: Int32Array,
  from: number,
  keys: SlotKeys,
): number {
  const mask = tags.length - 1;
  const [first, second, third] = [ids[from]!, ids[from + 1]!, ids[from + 2]!];
  const tag = tagOf(third);
  let slot = homeOf(tags.length, first, second, keys);
  for (let found = tags[slot]!; found !== 0; found = tags[slot]!) {
    if (found === tag) {
      const at = slot * SLOT_WORDS;
      if (words[at] === first && words[at + 1] === second && words[at + 2] === third) break;
    }
    slot = (slot + 1) & mask;
  }
  return slot;
}

/** @param time one more than the receive time since the origin, ms */
export function writeSlot(
  { words, tags }: IdSlots,
  slot: number,
  ids: Int32Array,
  from: number,
  time: number,
): void {
  const at = slot * SLOT_WORDS;
  tags[slot] = tagOf(ids[from + 2]!);
  words[at] = ids[from]!;
  words[at + 1] = ids[from + 1]!;
  words[at + 2] = ids[from + 2]!;
  words[at + ID_WORDS] = time;
}

/** The time that `writeSlot` was given. */
export function timeAt({ words }: IdSlots, slot: number): number {
  return words[slot * SLOT_WORDS + ID_WORDS]! >>> 0;
}

/** Writes all ids of a table into a larger one. */
export function copySlots(source: IdSlots, target: IdSlots, keys: SlotKeys): void {
  for (let slot = 0; slot < source.tags.length; slot++) {
    if (source.tags[slot] === 0) continue;
    const from = slot * SLOT_WORDS;
    const found = slotOf(target, source.words, from, keys);
    writeSlot(target, found, source.words, from, source.words[from + ID_WORDS]!);
  }
}

/** Slots that the longest search of a stored id reads. */
export function longestSearch({ words, tags }: IdSlots, keys: SlotKeys): number {
  const slots = tags.length;
  let longest = 0;
  for (let slot = 0; slot < slots; slot++) {
    if (tags[slot] === 0) continue;
    const at = slot * SLOT_WORDS;
    const home = homeOf(slots, words[at]!, words[at + 1]!, keys);
    longest = Math.max(longest, ((slot - home) & (slots - 1)) + 1);
  }
  return longest;
}

/** Of the third word, because the place of a search follows from the other two. */
const tagOf = (third: number): number => third & 0xff || 1;
/* eslint-enable @typescript-eslint/no-non-null-assertion */
