import { claimDigest, type ClaimId } from './claim-id.ts';

/**
 * The claim ids of a request: the 12 bytes of each as three little-endian words. They are compared
 * and stored several times, and words take half of the time that strings do. Nobody writes to them,
 * and `words` has those of other requests before and behind them.
 */
export interface ClaimWords {
  readonly words: Int32Array;
  /** Where the first id begins. */
  readonly from: number;
  /** Number of ids. */
  readonly count: number;
}

/** Words of an id. */
export const ID_WORDS = 3;
/**
 * Requests share arrays of so many ids, because an array of its own costs a request of one event
 * more than its words save. No place is used twice: an array is free once no request needs it.
 */
const SHARED_IDS = 512;
export const NO_CLAIMS: ClaimWords = { words: new Int32Array(0), from: 0, count: 0 };

let shared = new Int32Array(SHARED_IDS * ID_WORDS);
let used = 0;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded */

/** The ids that `claimId` answers for the keys. */
export function claimWords(scope: string, keys: readonly string[]): ClaimWords {
  const ids = emptyWords(keys.length);
  const { words } = ids;
  let at = ids.from;
  for (const key of keys) {
    const digest = claimDigest(scope, key);
    words[at++] = wordOf(digest, 0);
    words[at++] = wordOf(digest, 4);
    words[at++] = wordOf(digest, 8);
  }
  return ids;
}

/** The id at a position, in the form that Redis needs. */
export function claimIdAt({ words, from }: ClaimWords, position: number): ClaimId {
  const at = from + position * ID_WORDS;
  const own = [words[at]!, words[at + 1]!, words[at + 2]!];
  const bytes = own.flatMap((word) => [word, word >>> 8, word >>> 16, word >>> 24]);
  return String.fromCharCode(...bytes.map((byte) => byte & 0xff)) as ClaimId;
}

/** All ids in the form that Redis needs, in order. */
export function claimIdsOf(ids: ClaimWords): ClaimId[] {
  return Array.from({ length: ids.count }, (_, position) => claimIdAt(ids, position));
}

function emptyWords(count: number): ClaimWords {
  const needed = count * ID_WORDS;
  if (count > SHARED_IDS) return { words: new Int32Array(needed), from: 0, count };
  if (used + needed > shared.length) {
    shared = new Int32Array(SHARED_IDS * ID_WORDS);
    used = 0;
  }
  const from = used;
  used += needed;
  return { words: shared, from, count };
}

function wordOf(latin1: string, at: number): number {
  return (
    latin1.charCodeAt(at) |
    (latin1.charCodeAt(at + 1) << 8) |
    (latin1.charCodeAt(at + 2) << 16) |
    (latin1.charCodeAt(at + 3) << 24)
  );
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
