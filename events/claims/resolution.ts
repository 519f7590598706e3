import type { LogPosition } from '../../schemas/log-position.ts';
import { CLAIM_ID_BYTES } from './claim-id.ts';
import type { ClaimId } from './claim-id.ts';
import { CLAIM_TIME_BYTES, fromClaimTime } from './claim-time.ts';
import { resolvedLength, writeResolved } from './entry.ts';
import { positionByteLength, readPosition, writePosition } from './position-bytes.ts';

/** An event whose claim is to be resolved. */
export interface ClaimToResolve {
  readonly id: ClaimId;
  readonly position: LogPosition;
  /** acceptanceHash of the item. */
  readonly acceptance: number;
  /** received_at of its raw record, Unix ms: consumer lag does not move the dedupe window. */
  readonly receivedAt: number;
  /** Original position of a redriven dead letter: a claim held there moves to `position`. */
  readonly redrivenFrom?: LogPosition;
  readonly stored?: StoredAnswer;
}

/**
 * What is known beside Redis, in case the claim is packed. ask: the position may have been decided
 * before, so the stored rows decide. none: the claim has no row, for example because it is erased.
 * Otherwise the claim of the stored row.
 */
export type StoredAnswer = 'ask' | 'none' | Omit<ClaimToLoad, 'id'>;

/** A stored event whose claim is backfilled; its acceptance may be UNKNOWN_ACCEPTANCE. */
export type ClaimToLoad = Omit<ClaimToResolve, 'redrivenFrom' | 'stored'>;

/**
 * first: this event holds the claim. replay: this position holds it already; publish it again,
 * since an earlier attempt may have crashed before it published. repeat: the same acceptance holds
 * it at another position. duplicate: another acceptance holds it; its position is unknown when its
 * claim is packed. passed: nothing holds it, and
 * consumers have passed this position: an earlier attempt decided that it is no row, by a claim
 * that Redis has lost since then (pipeline/normalise/BACKFILL.md).
 */
export type ClaimResolution =
  | { readonly verdict: 'first' }
  | { readonly verdict: 'replay' }
  | { readonly verdict: 'passed' }
  | { readonly verdict: 'repeat'; readonly position: LogPosition }
  | { readonly verdict: 'duplicate'; readonly position?: LogPosition };

/**
 * ask: the claim is packed, and only the stored row says which it is. It ends from `since` to
 * `until`, Unix ms. Nothing was changed.
 */
export type ClaimAnswer =
  ClaimResolution | { readonly verdict: 'ask'; readonly since: number; readonly until: number };

const FIRST: ClaimResolution = Object.freeze({ verdict: 'first' });
const REPLAY: ClaimResolution = Object.freeze({ verdict: 'replay' });
const PACKED_DUPLICATE: ClaimResolution = Object.freeze({ verdict: 'duplicate' });

export const resolutionCode = {
  first: 0x46,
  replay: 0x52,
  repeat: 0x51,
  duplicate: 0x44,
  packedDuplicate: 0x55,
  ask: 0x41,
  lost: 0x21,
} as const;

/**
 * Claims as the resolve and load scripts read them, concatenated: id(12), length(1), resolved
 * entry, length(1), original position of a redriven event or nothing, length(1), what is known of
 * the stored row: nothing, 1 for ask, 0 for none, or the resolved entry of the row.
 */
export function packClaims(
  entries: readonly (ClaimToResolve | ClaimToLoad)[],
  dedupeTtl: number,
): Buffer {
  let length = 0;
  for (const entry of entries)
    length +=
      CLAIM_ID_BYTES +
      3 +
      resolvedLength(entry.position) +
      redrivenFromLength(entry) +
      storedLength(entry);
  const packed = Buffer.allocUnsafe(length);
  let at = 0;
  for (const entry of entries) at = packEntry(entry, { packed, at, dedupeTtl });
  return packed;
}

/** Reads the resolve script's reply for `count` claims; null when Redis lost the claims. */
export function readResolutions(reply: Buffer, count: number): ClaimAnswer[] | null {
  if (reply[0] === resolutionCode.lost) return null;
  const resolutions = new Array<ClaimAnswer>(count);
  let at = 0;
  for (let entry = 0; entry < count; entry += 1) {
    const code = reply[at];
    at += 1;
    switch (code) {
      case resolutionCode.first:
        resolutions[entry] = FIRST;
        break;
      case resolutionCode.replay:
        resolutions[entry] = REPLAY;
        break;
      case resolutionCode.packedDuplicate:
        resolutions[entry] = PACKED_DUPLICATE;
        break;
      case resolutionCode.ask:
        resolutions[entry] = {
          verdict: 'ask',
          since: fromClaimTime(reply.readUIntBE(at, CLAIM_TIME_BYTES)),
          until: fromClaimTime(reply.readUIntBE(at + CLAIM_TIME_BYTES, CLAIM_TIME_BYTES)),
        };
        at += 2 * CLAIM_TIME_BYTES;
        break;
      case resolutionCode.repeat:
      case resolutionCode.duplicate: {
        const { position, end } = readPosition(reply, at);
        resolutions[entry] = {
          verdict: code === resolutionCode.repeat ? 'repeat' : 'duplicate',
          position,
        };
        at = end;
        break;
      }
      default:
        throw new RangeError(`the resolve script answered code ${code ?? 'nothing'} for an entry`);
    }
  }
  return resolutions;
}

function packEntry(
  entry: ClaimToResolve | ClaimToLoad,
  target: { readonly packed: Buffer; readonly at: number; readonly dedupeTtl: number },
): number {
  const { packed } = target;
  const lengthAt = target.at + packed.write(entry.id, target.at, CLAIM_ID_BYTES, 'latin1');
  const end = writeResolved(
    {
      position: entry.position,
      acceptance: entry.acceptance,
      expires: entry.receivedAt + target.dedupeTtl,
    },
    packed,
    lengthAt + 1,
  );
  packed[lengthAt] = end - lengthAt - 1;
  packed[end] = redrivenFromLength(entry);
  const storedAt =
    'redrivenFrom' in entry ? writePosition(entry.redrivenFrom, packed, end + 1) : end + 1;
  packed[storedAt] = storedLength(entry);
  const stored = 'stored' in entry ? entry.stored : undefined;
  if (stored === undefined) return storedAt + 1;
  if (typeof stored === 'string') return packed.writeUInt8(stored === 'ask' ? 1 : 0, storedAt + 1);
  const { position, acceptance, receivedAt } = stored;
  const held = { position, acceptance, expires: receivedAt + target.dedupeTtl };
  return writeResolved(held, packed, storedAt + 1);
}

function storedLength(entry: ClaimToResolve | ClaimToLoad): number {
  const stored = 'stored' in entry ? entry.stored : undefined;
  if (stored === undefined) return 0;
  return typeof stored === 'string' ? 1 : resolvedLength(stored.position);
}

function redrivenFromLength(entry: ClaimToResolve | ClaimToLoad): number {
  return 'redrivenFrom' in entry ? positionByteLength(entry.redrivenFrom) : 0;
}
