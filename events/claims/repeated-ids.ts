import { ID_WORDS, type ClaimWords } from './claim-words.ts';
import { homeOf, slotKeys, type SlotKeys } from './id-slots.ts';

/** Of the table that is used again: more than twice the ids of the largest request of an SDK. */
const SLOTS = 1024;
const MAX_ENTRY = 2 ** 30;
const NONE: readonly number[] = [];

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded */

/**
 * Finds the ids that a request has more than once. Its table is used again without being emptied:
 * an entry is one more than a position, above all entries of earlier requests.
 */
export class RepeatedIds {
  readonly #keys: SlotKeys;
  readonly #table = new Int32Array(SLOTS);
  /** The highest entry so far. */
  #last: number;

  /**
   * @param keys random numbers below 2^32 (id-slots.ts)
   * @param last the highest entry so far; for tests
   */
  constructor(keys: SlotKeys, last = 0) {
    this.#keys = slotKeys(keys);
    this.#last = last;
  }

  /** Positions of the second and later occurrences of an id, in order. */
  find(ids: ClaimWords): readonly number[] {
    const { count } = ids;
    if (count < 2) return NONE;
    if (2 * count > SLOTS) {
      const slots = 2 ** Math.ceil(Math.log2(2 * count));
      return findRepeats(ids, new Int32Array(slots), 0, this.#keys);
    }
    if (this.#last + count > MAX_ENTRY) {
      this.#table.fill(0);
      this.#last = 0;
    }
    const before = this.#last;
    this.#last += count;
    return findRepeats(ids, this.#table, before, this.#keys);
  }
}

/** @param before entries up to this one are of other requests */
function findRepeats(
  { words, from: start, count }: ClaimWords,
  table: Int32Array,
  before: number,
  keys: SlotKeys,
): readonly number[] {
  const mask = table.length - 1;
  let repeats: number[] | undefined;
  for (let position = 0, at = start; position < count; position++, at += ID_WORDS) {
    const [first, second, third] = [words[at]!, words[at + 1]!, words[at + 2]!];
    let slot = homeOf(table.length, first, second, keys);
    let isRepeat = false;
    for (let found = table[slot]!; found > before; found = table[slot]!) {
      const other = start + (found - before - 1) * ID_WORDS;
      if (words[other] === first && words[other + 1] === second && words[other + 2] === third) {
        isRepeat = true;
        break;
      }
      slot = (slot + 1) & mask;
    }
    if (isRepeat) (repeats ??= []).push(position);
    else table[slot] = before + 1 + position;
  }
  return repeats ?? NONE;
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
