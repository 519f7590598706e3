import type { LogPosition } from '../../schemas/log-position.ts';
import { CLAIM_TIME_BYTES, fromClaimTime, toClaimTime } from './claim-time.ts';
import { positionByteLength, readPosition, writePosition } from './position-bytes.ts';

/**
 * The value stored in Redis for a claim id. `expires` is Unix ms: from then on the entry is void,
 * whether it is still stored or not.
 *
 *     durable  expires(5)
 *     pending  expires(5) 0x00 token(8)
 *     resolved expires(5) position acceptance(4)      a position never begins with 0x00
 *
 * The sixth byte distinguishes the states: missing, zero, or anything else.
 */
type StoredEntry =
  | { readonly state: 'durable'; readonly expires: number }
  | { readonly state: 'pending'; readonly expires: number; readonly token: Buffer }
  | {
      readonly state: 'resolved';
      readonly expires: number;
      readonly position: LogPosition;
      readonly acceptance: number;
    };

/** packed: resolved, and in a part of a pack whose claims end from `since` to `expires`. */
export type ClaimEntry =
  StoredEntry | { readonly state: 'packed'; readonly since: number; readonly expires: number };

/** What the peek script answers for a packed claim; no stored entry has this length. */
const PACKED_BYTES = 2 * CLAIM_TIME_BYTES;

export const TOKEN_BYTES = 8;
const ACCEPTANCE_BYTES = 4;
const STATE_AT = CLAIM_TIME_BYTES;

export function encodeEntry(entry: StoredEntry): Buffer {
  switch (entry.state) {
    case 'durable':
      return timed(entry.expires, 0);
    case 'pending': {
      const bytes = timed(entry.expires, 1 + TOKEN_BYTES);
      bytes[STATE_AT] = 0;
      entry.token.copy(bytes, STATE_AT + 1);
      return bytes;
    }
    case 'resolved': {
      const bytes = Buffer.allocUnsafe(resolvedLength(entry.position));
      writeResolved(entry, bytes, 0);
      return bytes;
    }
  }
}

/** Throws RangeError for bytes that neither encodeEntry nor the peek script can have written. */
export function decodeEntry(bytes: Buffer): ClaimEntry {
  const expires = fromClaimTime(bytes.readUIntBE(0, CLAIM_TIME_BYTES));
  if (bytes.length === PACKED_BYTES) {
    const until = bytes.readUIntBE(CLAIM_TIME_BYTES, CLAIM_TIME_BYTES);
    return { state: 'packed', since: expires, expires: fromClaimTime(until) };
  }
  const state = bytes[STATE_AT];
  if (state === undefined) return { state: 'durable', expires };
  if (state === 0)
    return { state: 'pending', expires, token: Buffer.from(bytes.subarray(STATE_AT + 1)) };
  const { position, end } = readPosition(bytes, STATE_AT);
  return { state: 'resolved', expires, position, acceptance: bytes.readUInt32BE(end) };
}

export function resolvedLength(position: LogPosition): number {
  return CLAIM_TIME_BYTES + positionByteLength(position) + ACCEPTANCE_BYTES;
}

/** Returns the offset after the last byte written. */
export function writeResolved(
  entry: { readonly expires: number; readonly position: LogPosition; readonly acceptance: number },
  target: Buffer,
  at: number,
): number {
  const positionAt = target.writeUIntBE(toClaimTime(entry.expires), at, CLAIM_TIME_BYTES);
  return target.writeUInt32BE(entry.acceptance, writePosition(entry.position, target, positionAt));
}

function timed(expires: number, more: number): Buffer {
  const bytes = Buffer.allocUnsafe(CLAIM_TIME_BYTES + more);
  bytes.writeUIntBE(toClaimTime(expires), 0, CLAIM_TIME_BYTES);
  return bytes;
}
