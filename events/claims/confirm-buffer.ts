import { CLAIM_ID_BYTES } from './claim-id.ts';
import type { ClaimId } from './claim-id.ts';
import { CLAIM_TIME_BYTES, toClaimTime } from './claim-time.ts';

interface Group {
  readonly ids: readonly ClaimId[];
  /** Unix ms at which the claims end. */
  readonly expires: number;
}

/** At most this many ids in one group of the packed form: its count has two bytes. */
const LARGEST_GROUP = 0xffff;

/**
 * Claims waiting to be raised, oldest first, up to `limit` ids. What does not fit pushes out the
 * oldest: an unraised claim only leaves the decision to the normaliser.
 */
export class ConfirmBuffer {
  readonly #limit: number;
  readonly #groups: Group[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns how many ids were dropped for it. */
  add(group: Group): number {
    if (group.ids.length === 0) return 0;
    if (group.ids.length > LARGEST_GROUP)
      throw new RangeError(`${group.ids.length} claims in one raise, at most ${LARGEST_GROUP}`);
    this.#groups.push(group);
    this.#size += group.ids.length;
    let dropped = 0;
    while (this.#size > this.#limit) dropped += this.#shift()?.ids.length ?? 0;
    return dropped;
  }

  /**
   * Whole groups from the front, at least one and then up to `most` ids, packed as the claim script
   * reads them.
   */
  take(most: number): { readonly packed: Buffer; readonly count: number } {
    const taken: Group[] = [];
    let count = 0;
    for (;;) {
      const next = this.#groups[0];
      if (!next || (count > 0 && count + next.ids.length > most)) break;
      taken.push(next);
      count += next.ids.length;
      this.#shift();
    }
    return { packed: packGroups(taken, count), count };
  }

  #shift(): Group | undefined {
    const group = this.#groups.shift();
    if (group) this.#size -= group.ids.length;
    return group;
  }
}

function packGroups(groups: readonly Group[], count: number): Buffer {
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
