import type { VisitorHash } from '../../events/channels/onsite/visitor.ts';
import { MAX_SLOTS } from './hash-shard.ts';
import { halvesOf, Members, NONE } from './members.ts';
import { NameIndex, type Halves } from './name-index.ts';

/** Names that an audience has no longer; their memory is given back in steps. */
interface Removed {
  slot: number;
  names: Halves;
  /** It was the last of an audience that nobody needs: another one may have its slot. */
  isLast: boolean;
}

/** The members of the audiences of one account, and the index over all of them. */
export class AccountMembers {
  readonly #byAudience = new Map<string, Members>();
  readonly #index = new NameIndex();
  readonly #bySlot: (Members | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #removed: Removed[] = [];
  /** Of the hashes, those that wait for their removal too. */
  bytes = 0;

  /** It has no audience, and nothing waits for its removal. */
  get isEmpty(): boolean {
    return this.#byAudience.size === 0 && this.#removed.length === 0;
  }

  /** Creates it when there is none; undefined: there are too many. */
  of(audience: string): Members | undefined {
    const known = this.#byAudience.get(audience);
    if (known) return known;
    const slot = this.#freeSlots.pop() ?? this.#bySlot.length;
    if (slot === MAX_SLOTS) return undefined;
    const members = new Members(slot);
    this.#bySlot[slot] = members;
    this.#byAudience.set(audience, members);
    return members;
  }

  /** The audiences that a name is in. */
  matching(hash: VisitorHash): Members[] {
    const found: Members[] = [];
    for (const slot of this.#index.slots(hash)) {
      const members = this.#bySlot[slot];
      if (members?.has(hash) === true) found.push(members);
    }
    return found;
  }

  /**
   * @param limit bytes that hashes may add
   * @returns false: there is no memory for the chunk, and the people in it are no members
   */
  setChunk(
    members: Members,
    chunk: { bits: number; chunk: number; names: Buffer },
    limit: number,
  ): boolean {
    const before = members.chunk(chunk);
    const sent = halvesOf(chunk.names);
    const fits = sent.byteLength - before.byteLength <= limit;
    const after = fits ? sent : NONE;
    members.setChunk(chunk, after);
    this.bytes += after.byteLength - before.byteLength;
    return this.#index.replace(members.slot, { before, after }) && fits;
  }

  setLayout(members: Members, bits: number | undefined): void {
    const { slot } = members;
    for (const names of members.setLayout(bits)) this.#removed.push({ slot, names, isLast: false });
  }

  /** Forgets the other audiences. */
  retain(isUsed: (audience: string) => boolean): void {
    for (const [audience, members] of this.#byAudience) {
      if (isUsed(audience)) continue;
      this.setLayout(members, undefined);
      this.#removed.push({ slot: members.slot, names: NONE, isLast: true });
      this.#bySlot[members.slot] = undefined;
      this.#byAudience.delete(audience);
    }
  }

  /** Removes a chunk that nobody needs from the index. False: there was none. */
  removeChunk(): boolean {
    const removed = this.#removed.shift();
    if (!removed) return false;
    const { slot, names, isLast } = removed;
    this.#index.replace(slot, { before: names, after: NONE });
    this.bytes -= names.byteLength;
    if (isLast) this.#freeSlots.push(slot);
    return true;
  }
}
