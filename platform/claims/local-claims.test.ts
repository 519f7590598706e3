import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimId, claimScope, type ClaimId } from '../../events/claims/claim-id.ts';
import { claimWords, type ClaimWords } from '../../events/claims/claim-words.ts';
import type { ClaimVerdict } from '../../events/claims/verdict.ts';
import type { ClaimedIds } from './claim-batcher.ts';
import { LocalClaims } from './local-claims.ts';

const TTL = 100_000;
const SDK = { account: 7, receivedAt: 500_000, isExact: false };
const after = (ms: number) => ({ ...SDK, receivedAt: SDK.receivedAt + ms });
const scope = claimScope(7, 'message');
const ids = (...names: string[]): ClaimWords => claimWords(scope, names);
const idOf = (name: string): ClaimId => claimId(scope, name);

/** @param inRedis what Redis answers about an id */
function claims({
  maxBytes = 1024 * 1024,
  inRedis = 'claimed',
}: { maxBytes?: number; inRedis?: ClaimVerdict } = {}) {
  const asked: string[] = [];
  /** The ids of each call to Redis. */
  const sent: ClaimId[][] = [];
  const of = (what: string) => (claimed: ClaimedIds) => {
    asked.push(`${what} ${claimed.ids.length}`);
    sent.push([...claimed.ids]);
  };
  const local = new LocalClaims({
    dedupeTtl: TTL,
    maxBytes,
    slotKeys: [1, 1],
    batcher: {
      claim: (found, receivedAt) => {
        asked.push(`claim ${found.length}`);
        sent.push([...found]);
        const verdicts = found.map(() => inRedis);
        return Promise.resolve({ ids: found, receivedAt, token: null, verdicts });
      },
      confirm: of('confirm'),
      release: (claimed) => {
        of('release')(claimed);
        return Promise.resolve();
      },
    },
  });
  const verdicts = async (found: ClaimWords, request = SDK) =>
    (await local.claim(found, request)).verdicts;
  return { local, asked, sent, verdicts };
}

describe('the claims of a gateway', () => {
  it('ask Redis only about what this process made durable itself', async () => {
    const { local, asked, verdicts } = claims({ inRedis: 'durable' });
    local.confirm(await local.claim(ids('a', 'b', 'c'), SDK), [0, 2]);
    expect(asked).toEqual([]);
    expect(await verdicts(ids('a', 'b', 'c'))).toEqual(['durable', 'claimed', 'durable']);
    expect(await verdicts(ids('a'))).toEqual(['durable']);
    expect(await verdicts(ids('b'))).toEqual(['claimed']);
    expect(asked).toEqual(['claim 2', 'claim 1']);
    expect(local.counters).toEqual({ ids: 8, known: 3, forgotten: 0 });
  });

  it('ask Redis for the ids that are known, and for no other', async () => {
    const { local, sent, verdicts } = claims({ inRedis: 'durable' });
    local.confirm(await local.claim(ids('a', 'b', 'c'), SDK), [0, 2]);
    await verdicts(ids('x', 'c', 'b', 'a'));
    expect(sent).toEqual([[idOf('c'), idOf('a')]]);
  });

  it('publish an event whose first delivery was a duplicate of an event that has left the window', async () => {
    // Another gateway's claim was resolved, and its window has just ended.
    const { local, verdicts } = claims({ inRedis: 'unguarded' });
    local.confirm(await local.claim(ids('a'), SDK));
    expect(await verdicts(ids('a', 'a', 'b'), after(2000))).toEqual([
      'unguarded',
      'repeated',
      'claimed',
    ]);
  });

  it('are held by an event that the normaliser has not resolved yet, for a minute', async () => {
    const { local, verdicts } = claims({ inRedis: 'claimed' });
    local.confirm(await local.claim(ids('a'), SDK));
    expect(await verdicts(ids('a'), after(59_999))).toEqual(['durable']);
    expect(await verdicts(ids('a'), after(60_000))).toEqual(['claimed']);
    // The first delivery counts: the one that was published now may be no row.
    local.confirm(await local.claim(ids('a'), after(60_000)));
    expect(await verdicts(ids('a'), after(60_001))).toEqual(['claimed']);
  });

  it('forget an id after the window, to the millisecond', async () => {
    const { local, asked, verdicts } = claims({ inRedis: 'durable' });
    local.confirm(await local.claim(ids('a'), SDK));
    expect(await verdicts(ids('a'), after(TTL - 1))).toEqual(['durable']);
    expect(await verdicts(ids('a'), after(TTL))).toEqual(['claimed']);
    expect(asked).toEqual(['claim 1']);
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
    const { local, asked, sent } = claims();
    const claimed = await local.claim(ids('a', 'b'), { ...SDK, isExact: true });
    local.confirm(claimed);
    await local.release(claimed);
    expect(asked).toEqual(['claim 2', 'confirm 2', 'release 2']);
    const both = [idOf('a'), idOf('b')];
    expect(sent).toEqual([both, both, both]);
  });

  it('are those of Redis for all requests without memory for ids', async () => {
    const { local, asked } = claims({ maxBytes: 0 });
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

  it('answer every request as a set of the durable ids does, while others wait for Redis', async () => {
    const name = fc.nat(11).map((one) => `name ${one}`);
    const request = fc.record({
      account: fc.constantFrom(7, 8),
      names: fc.array(name, { minLength: 1, maxLength: 8 }),
      isDurable: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 30 }), async (requests) => {
        const { local } = claims({ inRedis: 'durable' });
        const durable = new Set<string>();
        const waiting = requests.map(({ account, names, isDurable }, at) => {
          const now = { account, receivedAt: SDK.receivedAt + at, isExact: false };
          const found = claimWords(claimScope(account, 'message'), names);
          const expected = names.map((one, position): ClaimVerdict => {
            if (durable.has(`${account} ${one}`)) return 'durable';
            return names.indexOf(one) < position ? 'repeated' : 'claimed';
          });
          const claiming = local.claim(found, now);
          // What is not known here is answered at once.
          if (!(claiming instanceof Promise) && isDurable) {
            const own = [...names.keys()].filter((position) => expected[position] === 'claimed');
            local.confirm(claiming, own);
            for (const one of names) durable.add(`${account} ${one}`);
          }
          return { claiming, expected, count: found.count };
        });
        for (const { claiming, expected, count } of waiting) {
          const { verdicts } = await claiming;
          expect(verdicts).toEqual(expected);
          expect(count).toBe(expected.length);
        }
      }),
      { seed: 20261130, numRuns: 300 },
    );
  });
});
