import type { ClaimId } from './claim-id.ts';

/**
 * Linear hashing. Of `count` buckets the next one to split is number count - 2^k, where 2^k <=
 * count < 2^(k+1); half of its ids move to the new bucket number `count`. The table grows by one
 * bucket at a time, an id is always in exactly one bucket, and a split touches only two buckets.
 * The scripts (platform/claims/lua.ts) implement the same in Lua; an integration test compares the
 * two.
 */

/**
 * Empty buckets cost nothing, so the table starts with many: below about twelve million claims no
 * bucket splits. All of them with one claim each take 30 MB.
 */
export const FIRST_BUCKET_COUNT = 262_144;

/** The largest power of two up to `count`. */
export function roundSize(count: number): number {
  return 2 ** (31 - Math.clz32(count));
}

/** Bucket of an id among `count` (1 to 2^31), by the first 32 bits of the id, itself a hash. */
export function bucketOf(id: ClaimId, count: number): number {
  const size = roundSize(count);
  const number = addressOf(id) % (size * 2);
  return number < count ? number : number - size;
}

/**
 * The bucket that splits when `count` grows by one; the ids that leave it move to bucket `count`.
 */
export function nextToSplit(count: number): number {
  return count - roundSize(count);
}

/** A bucket's key ends in its number, 4 bytes big-endian: shorter than digits. */
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
