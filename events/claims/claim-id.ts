import { hash } from 'node:crypto';

/**
 * The name of a claim: the first 96 bits of SHA-256 over (account, kind, dedupe key), as 12
 * characters of latin1. Text instead of a Buffer because the one-shot hash returns latin1 text five
 * times faster, and because it is a key of Sets and Maps as it is.
 */
export type ClaimId = string & { readonly __claimId: unique symbol };

/**
 * message: the dedupe key is the client's message_id. acceptance: an id made when the event was
 * accepted. The two kinds never meet.
 */
export type ClaimKind = 'message' | 'acceptance';

export const CLAIM_ID_BYTES = 12;

const kindMark: Record<ClaimKind, string> = { message: 'm', acceptance: 'a' };

/**
 * What all claims of an account and a kind begin with (ingest 2.5: the scope is the account).
 * Account ids hold no NUL, so no two scopes run into each other.
 */
export function claimScope(accountId: string | number, kind: ClaimKind): string {
  return `${accountId}\0${kindMark[kind]}\0`;
}

/**
 * Lone surrogates hash like U+FFFD, which is also how they are stored: an id read back from a
 * stored row is the same claim.
 */
export function claimId(scope: string, key: string): ClaimId {
  return hash('sha256', scope + key, 'binary').slice(0, CLAIM_ID_BYTES) as ClaimId;
}

/** The ids one after another, 12 bytes each. */
export function packClaimIds(ids: readonly ClaimId[]): Buffer {
  const packed = Buffer.allocUnsafe(ids.length * CLAIM_ID_BYTES);
  let at = 0;
  for (const id of ids) at += packed.write(id, at, CLAIM_ID_BYTES, 'latin1');
  return packed;
}
