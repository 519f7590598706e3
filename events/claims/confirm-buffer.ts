import { CLAIM_ID_BYTES } from './claim-id.ts';
import type { ClaimId } from './claim-id.ts';
import { CLAIM_TIME_BYTES, toClaimTime } from './claim-time.ts';

/** Claims of one request that are to be confirmed. */
export interface ConfirmGroup {
  readonly ids: readonly ClaimId[];
  /** Unix ms at which the claims expire. */
  readonly expires: number;
}

/** The packed form counts the ids of a group in two bytes. */
const MAX_GROUP_IDS = 0xffff;

/**
 * Claims waiting to be confirmed, oldest first, up to `limit` ids. When it is full the oldest are
 * dropped: without a confirmed claim the normaliser decides about a duplicate.
 */
export class ConfirmBuffer {
  readonly #limit: number;
  #groups: (ConfirmGroup | undefined)[] = [];
  /** Groups before this index have left. */
  #head = 0;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the number of ids dropped to make room. */
  add(group: ConfirmGroup): number {
    if (group.ids.length === 0) return 0;
    if (group.ids.length > MAX_GROUP_IDS)
      throw new RangeError(`${group.ids.length} claims in one group, at most ${MAX_GROUP_IDS}`);
    this.#groups.push(group);
    this.#size += group.ids.length;
    let dropped = 0;
    while (this.#size > this.#limit) dropped += this.#shift()?.ids.length ?? 0;
    return dropped;
  }

  /** Removes whole groups from the front, at least one, up to `maxIds` ids. */
  next(maxIds: number): { readonly groups: readonly ConfirmGroup[]; readonly count: number } {
    const groups: ConfirmGroup[] = [];
    let count = 0;
    for (;;) {
      const next = this.#groups[this.#head];
      if (!next || (count > 0 && count + next.ids.length > maxIds)) break;
      groups.push(next);
      count += next.ids.length;
      this.#shift();
    }
    return { groups, count };
  }

  /** Array.shift moves every group; this copies each one at most once on average. */
  #shift(): ConfirmGroup | undefined {
    const group = this.#groups[this.#head];
    if (!group) return undefined;
    this.#size -= group.ids.length;
    this.#groups[this.#head++] = undefined;
    if (this.#head * 2 > this.#groups.length) {
      this.#groups = this.#groups.slice(this.#head);
      this.#head = 0;
    }
    return group;
  }
}

/** Groups as the claim script reads them: expires(5), count(2), ids. */
export function packConfirms(groups: readonly ConfirmGroup[]): Buffer {
  const count = groups.reduce((sum, { ids }) => sum + ids.length, 0);
  const packed = Buffer.allocUnsafe(
    groups.length * (CLAIM_TIME_BYTES + 2) + count * CLAIM_ID_BYTES,
  );
  let at = 0;
  for (const group of groups) {
    at = packed.writeUIntBE(toClaimTime(group.expires), at, CLAIM_TIME_BYTES);
    at = packed.writeUInt16BE(group.ids.length, at);
    for (const id of group.ids) at += packed.write(id, at, CLAIM_ID_BYTES, 'latin1');
  }
  return packed;
}
