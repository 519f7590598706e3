import { createHash } from 'node:crypto';

/** One change of a person's consent, as it is in the log of consents. */
export interface ConsentEntry {
  channel: string;
  /** `subscribed` or `unsubscribed` */
  state: string;
  source: string;
  /** Of the text that the person saw; empty: none. */
  textVersion: string;
  ip: string;
  userAgent: string;
  /** ms since the epoch */
  receivedAt: number;
}

/** Whose consents are chained. */
export interface ConsentOwner {
  accountId: number;
  userId: string;
}

/** Before the first entry of a user. */
export const CHAIN_START: Buffer = Buffer.alloc(32);

/**
 * The hash of an entry: SHA-256 over that of the entry before and everything the entry says, so
 * that no entry can be changed, removed or inserted without changing all hashes after it.
 */
export function chainHash(before: Buffer, owner: ConsentOwner, entry: ConsentEntry): Buffer {
  const { channel, state, source, textVersion, ip, userAgent, receivedAt } = entry;
  const parts = [
    ...[owner.accountId, owner.userId, channel, state, source],
    ...[textVersion, ip, userAgent, receivedAt],
  ];
  return createHash('sha256').update(before).update(JSON.stringify(parts)).digest();
}

/** An entry with its place in the chain of its user. */
export interface ChainEntry {
  number: number;
  entry: ConsentEntry;
  hash: Buffer;
}

/**
 * The number of the first entry whose hash is wrong, or that is missing; undefined when the chain
 * is whole. An erasure removes the beginning of a chain: the hash of the first entry that is left
 * cannot be computed then, and stands for those before it.
 */
export function brokenEntry(
  owner: ConsentOwner,
  entries: readonly ChainEntry[],
): number | undefined {
  let number = entries[0]?.number ?? 0;
  let before: Buffer | undefined = number === 0 ? CHAIN_START : undefined;
  for (const one of entries) {
    if (one.number !== number) return number;
    if (before && !chainHash(before, owner, one.entry).equals(one.hash)) return number;
    before = one.hash;
    number++;
  }
  return undefined;
}
