import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import { FIRST_BUCKET_COUNT } from '../../events/claims/bucket.ts';

/** Prefix of the claims of one server. */
export const DEFAULT_PREFIX = '{clm}:';

/** Shards of the claims in a Redis Cluster; more masters than these hold no claims. */
export const CLUSTER_SHARDS = 32;

/**
 * The hash tag of shard s is `clm-` and number s: chosen so that it is in the middle of the s-th
 * 32nd of the 16,384 slots. Masters have ranges of slots of about the same size, so they get about
 * as many shards each. Never changed: claims are found by them.
 */
const TAGS = [
  ...[179, 216, 234, 223, 41, 113, 74, 7, 189, 656, 235, 307, 105, 57, 84, 6],
  ...[32, 160, 426, 155, 272, 58, 362, 9, 176, 24, 143, 11, 273, 341, 246, 129],
];

/**
 * Number of packs with which the table of one server, and that of a shard, starts: a power of two.
 * Never changed: claims in packs are found by it.
 */
const FIRST_PACK_COUNT = 65_536;
const FIRST_PACK_COUNT_OF_SHARD = 16_384;

/** Where claims are: each shard is a table of its own, with its own marker, in one slot. */
export interface ClaimLayout {
  /** Prefix of the keys of each shard. Its hash tag keeps a shard in one slot. */
  readonly prefixes: readonly string[];
  /** Number of buckets with which the table of a shard starts. */
  readonly firstBuckets: number;
  /** Number of packs with which it starts. */
  readonly firstPacks: number;
  /**
   * Prefix of the claims of a former layout, which are void (pipeline/normalise/BACKFILL.md);
   * undefined where there was none.
   */
  readonly former: string | undefined;
}

/**
 * One table on one server; a Redis Cluster has as many as it has shards, on all of its masters.
 * `shards` replaces the number of them, and `firstPacks` that of packs, for tests.
 */
export function claimLayout({
  redis,
  prefix = DEFAULT_PREFIX,
  shards,
  firstPacks,
}: {
  readonly redis: Redis;
  readonly prefix?: string | undefined;
  readonly shards?: number | undefined;
  readonly firstPacks?: number | undefined;
}): ClaimLayout {
  const client: unknown = redis;
  const count = shards ?? (client instanceof Cluster ? CLUSTER_SHARDS : 1);
  if (count === 1)
    return {
      prefixes: [prefix],
      firstBuckets: FIRST_BUCKET_COUNT,
      firstPacks: firstPacks ?? FIRST_PACK_COUNT,
      former: undefined,
    };
  return {
    prefixes: TAGS.slice(0, count).map((tag) => prefix.replace('}', `-${tag}}`)),
    firstBuckets: Math.ceil(FIRST_BUCKET_COUNT / count),
    firstPacks: firstPacks ?? FIRST_PACK_COUNT_OF_SHARD,
    former: prefix,
  };
}

/** Pattern for SCAN of the keys of all layouts. */
export const CLAIM_KEYS = '{clm*';

export function isClaimKey(key: string): boolean {
  return key.startsWith(DEFAULT_PREFIX) || key.startsWith('{clm-');
}
