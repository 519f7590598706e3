import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimId, claimScope } from './claim-id.ts';
import { claimIdAt, claimIdsOf, claimWords, NO_CLAIMS } from './claim-words.ts';

describe('words of claim ids', () => {
  it('are the bytes of the ids, whatever the keys are and however many there are', () => {
    const keys = fc.array(fc.string({ unit: 'binary' }), { maxLength: 60 });
    fc.assert(
      fc.property(keys, fc.nat(), (all, account) => {
        const scope = claimScope(account, 'message');
        const words = claimWords(scope, all);
        const expected = all.map((key) => claimId(scope, key));
        expect(words.count).toBe(all.length);
        expect(claimIdsOf(words)).toEqual(expected);
        for (const [position, id] of expected.entries())
          expect(claimIdAt(words, position)).toBe(id);
      }),
      { seed: 20261130 },
    );
  });

  it('stay as they are while others are made', () => {
    const scope = claimScope(1, 'message');
    const requests = Array.from({ length: 300 }, (_, request) =>
      Array.from(
        { length: request === 7 ? 700 : 1 + (request % 40) },
        (_, at) => `${request} ${at}`,
      ),
    );
    const words = requests.map((keys) => claimWords(scope, keys));
    for (const [request, keys] of requests.entries())
      expect(claimIdsOf(words[request] ?? NO_CLAIMS)).toEqual(
        keys.map((key) => claimId(scope, key)),
      );
  });
});
