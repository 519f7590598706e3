import type { ClaimId } from './claim-id.ts';

/**
 * Linear hashing. There are `count` buckets; the next to be split is number count - 2^k, with 2^k
 * <= count < 2^(k+1), and its other half becomes bucket number `count`. So the table grows by one
 * bucket at a time, an id is always in exactly one bucket, and nothing but that bucket is touched.
 * The scripts (platform/claims/lua.ts) do the same in Lua; a test on the real Redis holds the two
 * together.
 */

/**
 * Empty buckets cost nothing, so there are many from the start: below some twelve million claims
 * none is ever split. Nearly empty ones cost 30 MB in all.
 */
export const FIRST_BUCKET_COUNT = 262_144;

/** The largest power of two that is not above `count`. */
export function roundSize(count: number): number {
  return 2 ** (31 - Math.clz32(count));
}

/**
 * Bucket number of an id when there are `count` buckets (1 to 2^31). Ids are hashes: their first 32
 * bits are as good as any.
 */
export function bucketOf(id: ClaimId, count: number): number {
  const size = roundSize(count);
  const number = addressOf(id) % (size * 2);
  return number < count ? number : number - size;
}

/**
 * The bucket that is split when `count` grows by one; what leaves it goes to bucket number `count`.
 */
export function nextToSplit(count: number): number {
  return count - roundSize(count);
}

/**
 * A bucket's key ends in its number, 4 bytes, big end first: shorter than digits, and cheaper to
 * build in a script.
 */
export function bucketKey(prefix: string, bucket: number): Buffer {
  const key = Buffer.allocUnsafe(prefix.length + 4);
  key.write(prefix, 0, 'latin1');
  key.writeUInt32BE(bucket, prefix.length);
  return key;
}

function addressOf(id: ClaimId): number {
  return (
    ((id.charCodeAt(0) << 24) |
      (id.charCodeAt(1) << 16) |
      (id.charCodeAt(2) << 8) |
      id.charCodeAt(3)) >>>
    0
  );
}
