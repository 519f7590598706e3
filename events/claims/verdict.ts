import type { ClaimId } from './claim-id.ts';

/**
 * The gateway's answer for an id it claims (ingest 2.5). Published: claimed (ours until the pending
 * TTL), pending-elsewhere (another request's pending claim: the normaliser decides), unguarded (no
 * claim: Redis is unavailable, or a resolved claim has just left the window and only the normaliser
 * may replace it). Duplicates: durable (held by an earlier event), repeated (the id occurs earlier
 * in the same request).
 */
export type ClaimVerdict = 'claimed' | 'pending-elsewhere' | 'unguarded' | 'durable' | 'repeated';

export function isDuplicate(verdict: ClaimVerdict): boolean {
  return verdict === 'durable' || verdict === 'repeated';
}

/**
 * Replies of the claim script for one id. `own`: pending under the token of this call, so the id
 * occurs earlier in this call. `expiredResolved`: resolved, and its window has passed.
 */
export const claimCode = {
  claimed: 0x43,
  durable: 0x44,
  expiredResolved: 0x45,
  own: 0x4f,
  pending: 0x50,
} as const;

/**
 * Verdicts of one request: its ids, and the script's codes for them from `at` on. `pending`: the
 * script writes pending claims and so distinguishes the second occurrence of an id from the first;
 * repeats are then searched only when a code is ambiguous, and a request of new ids needs one pass.
 */
export function claimVerdicts(options: {
  readonly ids: readonly ClaimId[];
  readonly codes: Buffer;
  readonly at: number;
  readonly pending: boolean;
}): ClaimVerdict[] {
  const verdicts = new Array<ClaimVerdict>(options.ids.length);
  let ambiguous = !options.pending && verdicts.length > 1;
  for (let position = 0; position < verdicts.length; position += 1) {
    const verdict = verdictOf(options.codes[options.at + position]);
    if (verdict !== 'claimed' && verdict !== 'durable') ambiguous = true;
    verdicts[position] = verdict;
  }
  return ambiguous ? markRepeats(options.ids, verdicts) : verdicts;
}

/** Verdicts when Redis is unavailable: everything is published, each id once. */
export function unguardedVerdicts(ids: readonly ClaimId[]): ClaimVerdict[] {
  const verdicts = new Array<ClaimVerdict>(ids.length).fill('unguarded');
  return ids.length > 1 ? markRepeats(ids, verdicts) : verdicts;
}

function verdictOf(code: number | undefined): ClaimVerdict {
  switch (code) {
    case claimCode.claimed:
      return 'claimed';
    case claimCode.durable:
      return 'durable';
    case claimCode.own:
    case claimCode.pending:
      return 'pending-elsewhere';
    case claimCode.expiredResolved:
      return 'unguarded';
    default:
      throw new RangeError(`the claim script answered code ${code ?? 'nothing'} for an id`);
  }
}

/** Marks the second and later occurrences of an id, in place. */
function markRepeats(ids: readonly ClaimId[], verdicts: ClaimVerdict[]): ClaimVerdict[] {
  const seen = new Set<ClaimId>();
  for (const [position, id] of ids.entries()) {
    if (seen.has(id) && verdicts[position] !== 'durable') verdicts[position] = 'repeated';
    seen.add(id);
  }
  return verdicts;
}
