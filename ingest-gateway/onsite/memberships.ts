import { MAX_ACCOUNT_NAMES } from '../../events/channels/onsite/definition.ts';
import type { VisitorHash } from '../../events/channels/onsite/visitor.ts';
import { AccountMembers } from './account-members.ts';
import { Members } from './members.ts';

/** An audience of an account, by the digest of its definition. */
export interface Audience {
  accountId: number;
  audience: string;
}

/** The same as one text. */
export type AudienceId = `${number} ${string}`;

/** One part of an audience's members: see 0052_onsite.sql. */
export interface AudienceChunk extends Audience {
  bits: number;
  chunk: number;
  /** Hashes of names, UInt64 little-endian, ascending. */
  names: Buffer;
}

/** Of how many chunks (2^bits) an audience is made now; undefined: it was never computed. */
export interface AudienceLayout extends Audience {
  bits: number | undefined;
}

/** Of an audience for which the index of its account has no slot: it has no members. */
const NO_SLOT = -1;
/**
 * Hashes in one process, bytes: 16 million names of all audiences. With its entry in the index a
 * name costs 16 bytes on average, 20 at most (name-index.ts).
 */
const MAX_BYTES = 128 * 2 ** 20;
/** Hashes of one account, bytes: its names twice, as a new layout arrives beside the old one. */
const MAX_ACCOUNT_BYTES = 2 * MAX_ACCOUNT_NAMES * 8;

/** The members of the audiences of all accounts, within bounds. */
export class Memberships {
  readonly #accounts = new Map<number, AccountMembers>();
  readonly #maxBytes: number;
  readonly #maxAccountBytes: number;
  #bytes = 0;

  constructor({ maxBytes = MAX_BYTES, maxAccountBytes = MAX_ACCOUNT_BYTES } = {}) {
    this.#maxBytes = maxBytes;
    this.#maxAccountBytes = maxAccountBytes;
  }

  /** Bytes of all hashes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The members of an audience, now and after each change; none before they are known. */
  of({ accountId, audience }: Audience): Members {
    return this.#account(accountId).of(audience) ?? new Members(NO_SLOT);
  }

  /** The audiences of the account in which one of the names is. */
  matching(accountId: number, hashes: readonly VisitorHash[]): ReadonlySet<Members> {
    const account = this.#accounts.get(accountId);
    return new Set(account ? hashes.flatMap((hash) => account.matching(hash)) : []);
  }

  /** False: there is no memory for it, and the people in it are no members. */
  addChunk(chunk: AudienceChunk): boolean {
    const account = this.#account(chunk.accountId);
    const members = account.of(chunk.audience);
    if (!members) return false;
    const limit = Math.min(this.#maxBytes - this.#bytes, this.#maxAccountBytes - account.bytes);
    this.#bytes -= account.bytes;
    const fits = account.setChunk(members, chunk, limit);
    this.#bytes += account.bytes;
    return fits;
  }

  setLayout({ accountId, audience, bits }: AudienceLayout): void {
    const account = this.#account(accountId);
    const members = account.of(audience);
    if (members) account.setLayout(members, bits);
  }

  /** Forgets the other audiences. */
  retain(used: ReadonlySet<AudienceId>): void {
    for (const [accountId, account] of this.#accounts)
      account.retain((audience) => used.has(audienceId({ accountId, audience })));
  }

  /**
   * Gives back the memory of one chunk that nobody needs. Forgotten audiences and earlier layouts
   * are out of use at once, and leave memory in such steps. False: there was none.
   */
  removeChunk(): boolean {
    for (const [accountId, account] of this.#accounts) {
      this.#bytes -= account.bytes;
      const isRemoved = account.removeChunk();
      this.#bytes += account.bytes;
      if (isRemoved) return true;
      if (account.isEmpty) this.#accounts.delete(accountId);
    }
    return false;
  }

  #account(accountId: number): AccountMembers {
    let account = this.#accounts.get(accountId);
    if (!account) this.#accounts.set(accountId, (account = new AccountMembers()));
    return account;
  }
}

export function audienceId({ accountId, audience }: Audience): AudienceId {
  return `${accountId} ${audience}`;
}
