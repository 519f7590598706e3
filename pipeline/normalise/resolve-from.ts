import type { ClaimId } from '../../events/claims/claim-id.ts';
import type { ClaimResolution, ClaimToResolve } from '../../events/claims/resolution.ts';
import type { ResolvedClaims } from '../../platform/claims/claim-store.ts';
import { comparePartitionPositions, type PartitionPosition } from '../../schemas/log-position.ts';

export interface ResolvingClaims {
  resolve(claims: readonly ClaimToResolve[], signal: AbortSignal): Promise<ResolvedClaims>;
  /** Whether each id has a resolved claim; anything while the claims are not loaded. */
  held(ids: readonly ClaimId[], signal: AbortSignal): Promise<readonly boolean[]>;
}

const PASSED: ClaimResolution = { verdict: 'passed' };

/**
 * Resolves claims in order of position. Those at or before the last published position were decided
 * before: consumers skip a row there that they did not get the first time. Rows have their claims;
 * what nothing holds was no row, and must not claim its id now (BACKFILL.md).
 */
export async function resolveFrom(
  store: ResolvingClaims,
  { claims, published }: { claims: readonly ClaimToResolve[]; published: PartitionPosition },
  signal: AbortSignal,
): Promise<ResolvedClaims> {
  const isPassed = ({ position }: ClaimToResolve) =>
    comparePartitionPositions(position, published) <= 0;
  const [first] = claims;
  if (!first || !isPassed(first)) return store.resolve(claims, signal);
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
  const resolved = await store.resolve(
    claims.filter((claim) => !unheld.has(claim)),
    signal,
  );
  if (resolved.status === 'lost') return resolved;
  let next = 0;
  const resolutions = claims.map((claim): ClaimResolution => {
    if (unheld.has(claim)) return PASSED;
    const resolution = resolved.resolutions[next++];
    if (!resolution) throw new Error('fewer claims were resolved than were asked for');
    return resolution;
  });
  return { status: 'resolved', resolutions };
}
