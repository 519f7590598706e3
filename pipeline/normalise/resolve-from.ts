import type { ClaimId } from '../../events/claims/claim-id.ts';
import type {
  ClaimAnswer,
  ClaimResolution,
  ClaimToResolve,
  StoredAnswer,
} from '../../events/claims/resolution.ts';
import type { ClaimOfEvent } from '../../events/raw/record-claims.ts';
import type { ResolvedClaims } from '../../platform/claims/claim-store.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';

export interface ResolvingClaims {
  resolve(claims: readonly ClaimToResolve[], signal: AbortSignal): Promise<ResolvedClaims>;
  /** Whether each id has a resolved claim; anything while the claims are not loaded. */
  held(ids: readonly ClaimId[], signal: AbortSignal): Promise<readonly boolean[]>;
  /**
   * The stored row of each claim, one attempt of bounded time. Rejects with
   * StoredRowsUnavailable when ClickHouse does not answer.
   */
  stored(
    claims: readonly PackedClaim[],
    signal: AbortSignal,
  ): Promise<readonly Exclude<StoredAnswer, 'ask'>[]>;
}

/** An event whose dedupe key has a packed claim, which ends from `since` to `until`, Unix ms. */
export interface PackedClaim {
  readonly claim: ClaimOfEvent;
  readonly since: number;
  readonly until: number;
}

/** The stored rows could not be asked. Nothing is decided without them: the batch is repeated. */
export class StoredRowsUnavailable extends Error {
  override readonly name = 'StoredRowsUnavailable';
}

/** `unconfirmed`: some claims are packed, and ClickHouse did not say which row each one is. */
export type Resolved =
  | { readonly status: 'resolved'; readonly resolutions: readonly ClaimResolution[] }
  | { readonly status: 'lost' }
  | { readonly status: 'unconfirmed'; readonly error: StoredRowsUnavailable };

const PASSED: ClaimResolution = { verdict: 'passed' };

/**
 * Resolves claims in order of position. Those at or before the last published position were decided
 * before: consumers skip a row there that they did not get the first time. Rows have their claims;
 * what nothing holds was no row, and must not claim its id now (BACKFILL.md).
 */
export async function resolveFrom(
  store: ResolvingClaims,
  { claims, published }: { claims: readonly ClaimOfEvent[]; published: PartitionPosition },
  signal: AbortSignal,
): Promise<Resolved> {
  const isPassed = ({ position }: ClaimToResolve) =>
    comparePartitionPositions(position, published) <= 0;
  const [first] = claims;
  if (!first || !isPassed(first)) return resolveAll(store, claims, signal);
  const passed = claims.filter(isPassed);
  const held = await store.held(
    passed.map(({ id }) => id),
    signal,
  );
  const unheld = new Set(passed.filter((_, at) => held[at] !== true));
  // `resolve` asks the shards of its claims only: one that lost its claims holds none of these ids.
  if (unheld.size > 0) {
    const loaded = await store.resolve([], signal);
    if (loaded.status === 'lost') return loaded;
  }
  const others = claims
    .filter((claim) => !unheld.has(claim))
    .map((claim): ClaimOfEvent => (isPassed(claim) ? { ...claim, stored: 'ask' } : claim));
  const resolved = await resolveAll(store, others, signal);
  if (resolved.status !== 'resolved') return resolved;
  let next = 0;
  const resolutions = claims.map((claim): ClaimResolution => {
    if (unheld.has(claim)) return PASSED;
    const resolution = resolved.resolutions[next++];
    if (!resolution) throw new Error('fewer claims were resolved than were asked for');
    return resolution;
  });
  return { status: 'resolved', resolutions };
}

/**
 * Resolves claims, and those again of which only the stored row says what they are. In between
 * nothing holds them that did not before; a crash there repeats the batch, which changes no answer.
 */
async function resolveAll(
  store: ResolvingClaims,
  claims: readonly ClaimOfEvent[],
  signal: AbortSignal,
): Promise<Resolved> {
  const resolved = await store.resolve(claims, signal);
  if (resolved.status === 'lost') return resolved;
  // Nearly every batch: nothing is copied for it.
  if (areFinal(resolved.resolutions))
    return { status: 'resolved', resolutions: resolved.resolutions };
  const asked = claims.flatMap((claim, at): PackedClaim[] => {
    const answer = resolved.resolutions[at];
    return answer?.verdict === 'ask' ? [{ claim, since: answer.since, until: answer.until }] : [];
  });
  let rows: readonly Exclude<StoredAnswer, 'ask'>[];
  try {
    rows = await store.stored(asked, signal);
  } catch (error) {
    if (error instanceof StoredRowsUnavailable) return { status: 'unconfirmed', error };
    throw error;
  }
  const again = await store.resolve(
    asked.map(({ claim }, at) => ({ ...claim, stored: rows[at] ?? 'none' })),
    signal,
  );
  if (again.status === 'lost') return again;
  let next = 0;
  const resolutions = resolved.resolutions.map((one) =>
    final(one.verdict === 'ask' ? again.resolutions[next++] : one),
  );
  return { status: 'resolved', resolutions };
}

function areFinal(answers: readonly ClaimAnswer[]): answers is readonly ClaimResolution[] {
  return answers.every(({ verdict }) => verdict !== 'ask');
}

function final(answer: ClaimAnswer | undefined): ClaimResolution {
  if (!answer || answer.verdict === 'ask')
    throw new Error('a claim was not resolved although its stored row is known');
  return answer;
}
