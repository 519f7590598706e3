const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * Partition of `events.raw` for the events of a distinct id: FNV-1a (32 bit) over the UTF-8 bytes
 * of `${accountId}\0${distinctId}`, modulo `partitions`. A lone surrogate hashes as U+FFFD.
 */
export function partitionOf({
  accountId,
  distinctId,
  partitions,
}: {
  accountId: number | string;
  distinctId: string;
  partitions: number;
}): number {
  return distinctIdHash(accountSeed(accountId), distinctId) % partitions;
}

/** Hash state after `${accountId}\0`, shared by a batch; continue with distinctIdHash. */
export function accountSeed(accountId: number | string): number {
  return fnv1a(OFFSET_BASIS, `${accountId}\u0000`);
}

/** Unsigned 32-bit hash of a distinct id under its account; `% partitions` is the partition. */
export function distinctIdHash(seed: number, distinctId: string): number {
  return fnv1a(seed, distinctId) >>> 0;
}

function fnv1a(seed: number, text: string): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) {
      hash = Math.imul(hash ^ unit, PRIME);
      continue;
    }
    const codePoint = text.codePointAt(at) ?? 0;
    const isLone = codePoint >= 0xd800 && codePoint <= 0xdfff;
    hash = hashCodePoint(hash, isLone ? 0xfffd : codePoint);
    if (codePoint > 0xffff) at++;
  }
  return hash;
}

/** Hashes the two to four UTF-8 bytes of a code point at or above U+0080. */
function hashCodePoint(seed: number, codePoint: number): number {
  let hash = seed;
  if (codePoint < 0x800) {
    hash = Math.imul(hash ^ (0xc0 | (codePoint >> 6)), PRIME);
  } else {
    if (codePoint < 0x10000) {
      hash = Math.imul(hash ^ (0xe0 | (codePoint >> 12)), PRIME);
    } else {
      hash = Math.imul(hash ^ (0xf0 | (codePoint >> 18)), PRIME);
      hash = Math.imul(hash ^ (0x80 | ((codePoint >> 12) & 0x3f)), PRIME);
    }
    hash = Math.imul(hash ^ (0x80 | ((codePoint >> 6) & 0x3f)), PRIME);
  }
  return Math.imul(hash ^ (0x80 | (codePoint & 0x3f)), PRIME);
}
