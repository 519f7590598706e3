import { isDuplicate, type ClaimVerdict } from '../events/claims/verdict.ts';
import type { AcceptedEvent } from '../events/validate-event.ts';

/** The events of a request that are to be published. */
export interface FreshEvents {
  events: readonly AcceptedEvent[];
  duplicates: number;
  /** Position of each event's claim, -1 for one without; undefined: event i has claim i. */
  claims: readonly number[] | undefined;
}

/** True for an event that is claimed: an id that the gateway made is new by itself. */
export function needsClaim(event: AcceptedEvent): boolean {
  return !event.generated;
}

/**
 * Leaves out what is held already. `verdicts` are those of the events that need a claim, in order.
 */
export function freshEvents(
  accepted: readonly AcceptedEvent[],
  verdicts: readonly ClaimVerdict[],
): FreshEvents {
  if (verdicts.length === accepted.length && !verdicts.some(isDuplicate))
    return { events: accepted, duplicates: 0, claims: undefined };
  const events: AcceptedEvent[] = [];
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

/**
 * Positions of the claims of some of the fresh events, or of all; undefined stands for every claim
 * that there is.
 */
export function claimPositions(
  fresh: FreshEvents,
  positions: readonly number[] | undefined,
): readonly number[] | undefined {
  if (positions === undefined) return fresh.claims?.filter((claim) => claim >= 0);
  if (!fresh.claims) return positions;
  return positions.map((position) => fresh.claims?.[position] ?? -1).filter((claim) => claim >= 0);
}
