import { hash } from 'node:crypto';

/** Bytes of a name's hash. */
export const HASH_BYTES = 8;
/** Names of a chunk when a layout is chosen, and the fewest and most with which it is kept. */
const CHUNK_NAMES = { chosen: 16_384, min: 4096, max: 49_152 };
const MAX_BITS = 10;

/** A part of an audience's members: those whose hashes begin with the bits of `chunk`. */
export interface Chunk {
  chunk: number;
  names: Buffer;
  /** SHA-256 of `names`, as hexadecimal digits. */
  digest: string;
}

/**
 * Into 2^bits chunks a number of names is divided. The layout stays while its chunks are neither
 * small nor large, because a new one writes all of them.
 */
export function layoutBits(names: number, before: number | undefined): number {
  if (before !== undefined) {
    const average = names / 2 ** before;
    const isSmall = average < CHUNK_NAMES.min && before > 0;
    if (!isSmall && average <= CHUNK_NAMES.max) return before;
  }
  return Math.min(MAX_BITS, Math.ceil(Math.log2(Math.max(1, names / CHUNK_NAMES.chosen))));
}

/** All chunks of a layout, empty ones too. @param names sorted hashes, UInt64 little-endian */
export function chunksOf(names: Buffer, bits: number): Chunk[] {
  const count = names.length / HASH_BYTES;
  const chunks: Chunk[] = [];
  let start = 0;
  for (let chunk = 0; chunk < 2 ** bits; chunk++) {
    const end = chunk + 1 === 2 ** bits ? count : firstFrom(names, (chunk + 1) * 2 ** (32 - bits));
    const own = names.subarray(start * HASH_BYTES, end * HASH_BYTES);
    chunks.push({ chunk, names: own, digest: hash('sha256', own) });
    start = end;
  }
  return chunks;
}

/** Index of the first hash whose high half is at least this. */
function firstFrom(names: Buffer, high: number): number {
  let first = 0;
  let end = names.length / HASH_BYTES;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (names.readUInt32LE(middle * HASH_BYTES + 4) < high) first = middle + 1;
    else end = middle;
  }
  return first;
}
