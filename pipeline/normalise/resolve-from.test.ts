import { describe, expect, it } from 'vitest';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import type { ClaimToResolve } from '../../events/claims/resolution.ts';
import { shardOf } from '../../events/claims/shard.ts';
import { resolveFrom, type ResolvingClaims } from './resolve-from.ts';

const SHARDS = 2;
const idIn = (shard: number, offset: number) =>
  `claim of ${offset}.${String.fromCharCode(shard)}` as ClaimId;
const claimAt = (offset: number, shard: number): ClaimToResolve => ({
  id: idIn(shard, offset),
  position: { epoch: 0, partition: 0, offset, index: 0 },
  acceptance: 1,
  receivedAt: 0,
});
const claims = [claimAt(1, 0), claimAt(2, 1)];

/** Claims of two shards, of which some hold theirs; like ClaimStore it asks those of the claims. */
function store(intact: readonly boolean[], rows: readonly ClaimId[]): ResolvingClaims {
  return {
    held: (ids) => Promise.resolve(ids.map((id) => rows.includes(id))),
    resolve: (found) => {
      const asked = found.length > 0 ? found.map(({ id }) => shardOf(id, SHARDS)) : [0, 1];
      if (asked.some((shard) => intact[shard] !== true)) return Promise.resolve({ status: 'lost' });
      return Promise.resolve({
        status: 'resolved',
        resolutions: found.map(() => ({ verdict: 'replay' })),
      });
    },
  };
}

const resolve = (of: ResolvingClaims, offset = 2) =>
  resolveFrom(
    of,
    { claims, published: { epoch: 0, offset, index: 0 } },
    AbortSignal.timeout(60_000),
  );

describe('claims at positions that were published', () => {
  it('that nothing holds were decided before, when every shard holds its claims', async () => {
    expect(await resolve(store([true, true], [claims[0]?.id ?? idIn(0, 1)]))).toEqual({
      status: 'resolved',
      resolutions: [{ verdict: 'replay' }, { verdict: 'passed' }],
    });
  });

  it('are lost when the shard of an id that nothing holds lost its claims', async () => {
    const held = [claims[0]?.id ?? idIn(0, 1)];
    expect(await resolve(store([true, false], held))).toEqual({ status: 'lost' });
  });

  it('are lost when the shard of the only passed id lost its claims', async () => {
    expect(await resolve(store([false, true], []), 1)).toEqual({ status: 'lost' });
  });
});
