import { describe, expect, it } from 'vitest';
import { claimId, claimScope, type ClaimId } from '../../events/claims/claim-id.ts';
import { LocalClaims, type GatewayClaimed } from './local-claims.ts';

const TTL = 1000;
const SDK = { account: 7, receivedAt: 5000, isExact: false };
const scope = claimScope(7, 'message');
const ids = (...names: string[]): ClaimId[] => names.map((name) => claimId(scope, name));

function claims(maxBytes = 1024 * 1024) {
  const asked: string[] = [];
  const of = (what: string) => (claimed: GatewayClaimed) => {
    asked.push(`${what} ${claimed.ids.length}`);
  };
  const local = new LocalClaims({
    dedupeTtl: TTL,
    maxBytes,
    batcher: {
      claim: (found, receivedAt) => {
        asked.push(`claim ${found.length}`);
        const verdicts = found.map(() => 'claimed' as const);
        return Promise.resolve({ ids: found, receivedAt, token: null, verdicts });
      },
      confirm: of('confirm'),
      release: (claimed) => {
        of('release')(claimed);
        return Promise.resolve();
      },
    },
  });
  const verdicts = async (found: ClaimId[], request = SDK) =>
    (await local.claim(found, request)).verdicts;
  return { local, asked, verdicts };
}

describe('the claims of a gateway', () => {
  it('know what this process made durable, without Redis', async () => {
    const { local, asked, verdicts } = claims();
    local.confirm(await local.claim(ids('a', 'b', 'c'), SDK), [0, 2]);
    expect(await verdicts(ids('a', 'b', 'c'))).toEqual(['durable', 'claimed', 'durable']);
    expect(await verdicts(ids('a'))).toEqual(['durable']);
    expect(await verdicts(ids('b'))).toEqual(['claimed']);
    expect(asked).toEqual([]);
    expect(local.counters).toEqual({ ids: 8, known: 3, forgotten: 0 });
  });

  it('forget an id after the window, to the millisecond', async () => {
    const { local, verdicts } = claims();
    local.confirm(await local.claim(ids('a'), SDK));
    expect(await verdicts(ids('a'), { ...SDK, receivedAt: 5999 })).toEqual(['durable']);
    expect(await verdicts(ids('a'), { ...SDK, receivedAt: 6000 })).toEqual(['claimed']);
  });

  it('publish an id once that a request has twice', async () => {
    const { verdicts } = claims();
    expect(await verdicts(ids('a', 'b', 'a'))).toEqual(['claimed', 'claimed', 'repeated']);
  });

  it('do not know what could not be published', async () => {
    const { local, asked, verdicts } = claims();
    await local.release(await local.claim(ids('a'), SDK));
    expect(await verdicts(ids('a'))).toEqual(['claimed']);
    expect(asked).toEqual([]);
  });

  it('are those of Redis for a request that must report every duplicate', async () => {
    const { local, asked } = claims();
    const claimed = await local.claim(ids('a'), { ...SDK, isExact: true });
    local.confirm(claimed);
    await local.release(claimed);
    expect(asked).toEqual(['claim 1', 'confirm 1', 'release 1']);
  });

  it('are those of Redis for all requests without memory for ids', async () => {
    const { local, asked } = claims(0);
    local.confirm(await local.claim(ids('a'), SDK));
    expect(asked).toEqual(['claim 1', 'confirm 1']);
  });

  it('forget everything when an epoch of the log begins, and when nobody knows whether one did', async () => {
    const { local, verdicts } = claims();
    const add = async () => local.confirm(await local.claim(ids('a'), SDK));
    local.follow(1);
    await add();
    local.follow(1);
    expect(await verdicts(ids('a'))).toEqual(['durable']);
    local.follow(2);
    expect(await verdicts(ids('a'))).toEqual(['claimed']);
    await add();
    local.follow(undefined);
    expect(await verdicts(ids('a'))).toEqual(['claimed']);
    await add();
    local.follow(2);
    expect(await verdicts(ids('a'))).toEqual(['claimed']);
  });
});
