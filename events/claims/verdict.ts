import type { ClaimId } from './claim-id.ts';

/**
 * What a gateway learns of an id it wants to claim (ingest 2.5).
 * To be published: claimed (ours until the pending time is over), pending-elsewhere (somebody
 * else's pending claim: the normaliser decides), unguarded (no claim was made: the store is away,
 * or a place has just left the window and is the normaliser's to replace). Duplicates: durable
 * (held already), repeated (named earlier in the same request, which is published once).
 */
export type ClaimVerdict = 'claimed' | 'pending-elsewhere' | 'unguarded' | 'durable' | 'repeated';

export function isDuplicate(verdict: ClaimVerdict): boolean {
  return verdict === 'durable' || verdict === 'repeated';
}

/**
 * What the claim script answers for one id. `own`: pending under the very token of this call, so
 * another place in this call has claimed it.
 */
export const claimCode = {
  claimed: 0x43,
  durable: 0x44,
  expiredPlace: 0x45,
  own: 0x4f,
  pending: 0x50,
} as const;

/**
 * Verdicts of one request: its ids, and the script's codes for them from `at` on. `pending`: the
 * script wrote pending claims, and so told an id's second claim from its first; then repeats are
 * looked for only when an id was neither free nor held, and a request of fresh ids costs one pass.
 */
export function claimVerdicts(options: {
  readonly ids: readonly ClaimId[];
  readonly codes: Buffer;
  readonly at: number;
  readonly pending: boolean;
}): ClaimVerdict[] {
  const verdicts = new Array<ClaimVerdict>(options.ids.length);
  let unclear = !options.pending && verdicts.length > 1;
  for (let position = 0; position < verdicts.length; position += 1) {
    const verdict = verdictOf(options.codes[options.at + position]);
    if (verdict !== 'claimed' && verdict !== 'durable') unclear = true;
    verdicts[position] = verdict;
  }
  return unclear ? markRepeats(options.ids, verdicts) : verdicts;
}

/** Verdicts when the store did not answer: everything is published, each id once. */
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
    case claimCode.expiredPlace:
      return 'unguarded';
    default:
      throw new RangeError(`the claim script answered code ${code ?? 'nothing'} for an id`);
  }
}

function markRepeats(ids: readonly ClaimId[], verdicts: ClaimVerdict[]): ClaimVerdict[] {
  const seen = new Set<ClaimId>();
  for (const [position, id] of ids.entries()) {
    if (seen.has(id) && verdicts[position] !== 'durable') verdicts[position] = 'repeated';
    seen.add(id);
  }
  return verdicts;
}
