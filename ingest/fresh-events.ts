import { claimScope } from '../events/claims/claim-id.ts';
import { claimWords, type ClaimWords } from '../events/claims/claim-words.ts';
import { isDuplicate, type ClaimVerdict } from '../events/claims/verdict.ts';
import type { StoredEvent } from './raw-records.ts';

/** The events of a request that are published, duplicates left out. */
export interface FreshEvents {
  events: readonly StoredEvent[];
  duplicates: number;
  /** Position of each event's claim, -1 for one without; undefined: event i has claim i. */
  claims: readonly number[] | undefined;
}

/** An event without a message id from the client is never a duplicate. */
function needsClaim(event: StoredEvent): boolean {
  return !event.generated;
}

/** The claims of the events that need one, in order. */
export function claimIds(accountId: number, events: readonly StoredEvent[]): ClaimWords {
  // An array that grows has room for 17 elements from the first one on.
  const claimed = events.every(needsClaim) ? events : events.filter(needsClaim);
  const keys = claimed.map(({ message_id }) => message_id);
  return claimWords(claimScope(accountId, 'message'), keys);
}

/** Leaves out duplicates. `verdicts` are those of `claimIds`, in order. */
export function freshEvents(
  accepted: readonly StoredEvent[],
  verdicts: readonly ClaimVerdict[],
): FreshEvents {
  if (verdicts.length === accepted.length && !verdicts.some(isDuplicate))
    return { events: accepted, duplicates: 0, claims: undefined };
  const events: StoredEvent[] = [];
  const claims: number[] = [];
  let next = 0;
  for (const event of accepted) {
    const claim = needsClaim(event) ? next++ : -1;
    const verdict = verdicts[claim];
    if (verdict !== undefined && isDuplicate(verdict)) continue;
    events.push(event);
    claims.push(claim);
  }
  return { events, duplicates: accepted.length - events.length, claims };
}

/** Claim positions of some fresh events; `undefined` means all, in and out. */
export function claimPositions(
  fresh: Pick<FreshEvents, 'claims'>,
  positions: readonly number[] | undefined,
): readonly number[] | undefined {
  if (positions === undefined) return fresh.claims?.filter((claim) => claim >= 0);
  if (!fresh.claims) return positions;
  return positions.map((position) => fresh.claims?.[position] ?? -1).filter((claim) => claim >= 0);
}
