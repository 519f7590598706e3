import { describe, expect, it } from 'vitest';
import type { ClaimId } from '../../events/claims/claim-id.ts';
import type { ClaimAnswer } from '../../events/claims/resolution.ts';
import type { ClaimOfEvent } from '../../events/raw/record-claims.ts';
import { shardOf } from '../../events/claims/shard.ts';
import { resolveFrom, StoredRowsUnavailable, type ResolvingClaims } from './resolve-from.ts';

const SHARDS = 2;
const idIn = (shard: number, offset: number) =>
  `claim of ${offset}.${String.fromCharCode(shard)}` as ClaimId;
const claimAt = (offset: number, shard: number): ClaimOfEvent => ({
  id: idIn(shard, offset),
  position: { epoch: 0, partition: 0, offset, index: 0 },
  acceptance: 1,
  receivedAt: 0,
  ...{ account: 1, kind: 'message', key: `m${offset}` },
});
const claims = [claimAt(1, 0), claimAt(2, 1)];

/** Claims of two shards, of which some hold theirs; like ClaimStore it asks those of the claims. */
function store(intact: readonly boolean[], rows: readonly ClaimId[]): ResolvingClaims {
  return {
    stored: () => Promise.reject(new Error('nothing is packed')),
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

describe('packed claims', () => {
  const row = { ...claimAt(1, 0), acceptance: 9 };
  const asks = () => {
    const calls: (readonly [number, unknown])[][] = [];
    const packed: ResolvingClaims = {
      held: (ids) => Promise.resolve(ids.map(() => true)),
      stored: (asked) =>
        Promise.resolve(asked.map(({ claim }) => (claim.position.offset === 1 ? row : 'none'))),
      resolve: (found) => {
        calls.push(found.map(({ position, stored }) => [position.offset, stored] as const));
        const resolutions = found.map(({ stored }): ClaimAnswer =>
          stored === undefined || stored === 'ask'
            ? { verdict: 'ask', since: 1, until: 2 }
            : { verdict: 'duplicate' },
        );
        return Promise.resolve({ status: 'resolved', resolutions });
      },
    };
    return { packed, calls };
  };

  it('are resolved again with what is stored of each', async () => {
    const { packed, calls } = asks();
    expect(await resolve(packed, 0)).toEqual({
      status: 'resolved',
      resolutions: [{ verdict: 'duplicate' }, { verdict: 'duplicate' }],
    });
    expect(calls).toEqual([
      [
        [1, undefined],
        [2, undefined],
      ],
      [
        [1, row],
        [2, 'none'],
      ],
    ]);
  });

  it('at positions that may have been decided before are always asked for', async () => {
    const { packed, calls } = asks();
    await resolve(packed, 1);
    expect(calls[0]).toEqual([
      [1, 'ask'],
      [2, undefined],
    ]);
  });

  it('decide nothing while ClickHouse does not answer', async () => {
    const { packed } = asks();
    const error = new StoredRowsUnavailable('timeout');
    const of = { ...packed, stored: () => Promise.reject(error) };
    expect(await resolve(of, 0)).toEqual({ status: 'unconfirmed', error });
  });
});
