import { hash } from 'node:crypto';

/**
 * Identifies a claim: the first 96 bits of SHA-256 over (account, kind, dedupe key), as 12 latin1
 * characters. A string instead of a Buffer because the one-shot hash returns latin1 five times
 * faster, and because Sets and Maps can use it as a key.
 */
export type ClaimId = string & { readonly __claimId: unique symbol };

/**
 * message: the dedupe key is the client's message_id. acceptance: the dedupe key was generated on
 * acceptance. Keys of different kinds never collide.
 */
export type ClaimKind = 'message' | 'acceptance';

export const CLAIM_ID_BYTES = 12;

const KIND_CODE: Record<ClaimKind, string> = { message: 'm', acceptance: 'a' };

/**
 * Prefix of the hash input of all claims of an account and kind (ingest 2.5: the scope is the
 * account). Account ids contain no NUL, so scopes cannot overlap.
 */
export function claimScope(accountId: string | number, kind: ClaimKind): string {
  return `${accountId}\0${KIND_CODE[kind]}\0`;
}

/** A lone surrogate hashes like U+FFFD, its stored form: an id read back gives the same claim. */
export function claimId(scope: string, key: string): ClaimId {
  return claimDigest(scope, key).slice(0, CLAIM_ID_BYTES) as ClaimId;
}

/** 32 latin1 characters that begin with the id. */
export function claimDigest(scope: string, key: string): string {
  return hash('sha256', scope + key, 'binary');
}

/** Concatenates the ids, 12 bytes each. */
export function packClaimIds(ids: readonly ClaimId[]): Buffer {
  const packed = Buffer.allocUnsafe(ids.length * CLAIM_ID_BYTES);
  let at = 0;
  for (const id of ids) at += packed.write(id, at, CLAIM_ID_BYTES, 'latin1');
  return packed;
}
