import { CLAIM_ID_BYTES } from './claim-id.ts';
import type { ClaimId } from './claim-id.ts';

/**
 * The shard of an id, by its last byte: buckets are chosen by the first four (bucket.ts), so the
 * ids of a shard fill all of its buckets. At most 256 shards.
 */
export function shardOf(id: ClaimId, shards: number): number {
  return id.charCodeAt(CLAIM_ID_BYTES - 1) % shards;
}

/** The items of one shard, in their order, and the place of each in the whole list. */
export interface ShardPart<T> {
  readonly shard: number;
  readonly items: readonly T[];
  readonly at: readonly number[];
}

/** Only shards that have an item; none for an empty list. */
export function splitByShard<T>(
  items: readonly T[],
  { shards, idOf }: { readonly shards: number; readonly idOf: (item: T) => ClaimId },
): ShardPart<T>[] {
  if (items.length === 0) return [];
  if (shards === 1) return [{ shard: 0, items, at: [...items.keys()] }];
  const parts = new Map<number, { shard: number; items: T[]; at: number[] }>();
  for (const [at, item] of items.entries()) {
    const shard = shardOf(idOf(item), shards);
    let part = parts.get(shard);
    if (!part) parts.set(shard, (part = { shard, items: [], at: [] }));
    part.items.push(item);
    part.at.push(at);
  }
  return [...parts.values()];
}

/** The results of all parts, in the order of the whole list. */
export function joinParts<T>(
  parts: readonly ShardPart<unknown>[],
  results: readonly ArrayLike<T>[],
): T[] {
  const joined: T[] = [];
  for (const [number, { at }] of parts.entries())
    for (const [from, to] of at.entries()) {
      const result = results[number]?.[from];
      if (result === undefined) throw new TypeError('a shard of the claims answered for fewer ids');
      joined[to] = result;
    }
  return joined;
}
