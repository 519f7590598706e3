import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { balanceOf } from './sdk-balance.ts';

const LIBRARY = {
  ...{ name: 'ravand-browser', version: '1.0.0', client: '01890000-0000-7000-8000-000000000000' },
  balance: { made: 9, stored: 8, sent: 5, dropped: { unknown: 1, full: 2 } },
};
const read = (library: object) => balanceOf({ library: { ...LIBRARY, ...library } });

describe('the balance of an SDK', () => {
  it('is read from context.library of a batch', () => {
    expect(balanceOf({ library: LIBRARY })).toEqual({
      ...{ library: 'ravand-browser', version: '1.0.0', client: LIBRARY.client },
      ...{ made: 9, stored: 8, sent: 5 },
      dropped: [
        { cause: 'unknown', count: 1 },
        { cause: 'full', count: 2 },
      ],
    });
  });

  it.each<[string, unknown]>([
    ['no context', undefined],
    ['no library', {}],
    ['no balance', { library: { ...LIBRARY, balance: undefined } }],
    ['no client', { library: { ...LIBRARY, client: undefined } }],
    ['a client that is no word', { library: { ...LIBRARY, client: 'a b' } }],
    ['a long client', { library: { ...LIBRARY, client: 'c'.repeat(65) } }],
    ['no name', { library: { ...LIBRARY, name: '' } }],
    ['a list', { library: [LIBRARY] }],
    ['a negative count', { library: { ...LIBRARY, balance: { ...LIBRARY.balance, made: -1 } } }],
    ['a fraction', { library: { ...LIBRARY, balance: { ...LIBRARY.balance, sent: 0.5 } } }],
    ['a text', { library: { ...LIBRARY, balance: { ...LIBRARY.balance, stored: '1' } } }],
    ['a huge count', { library: { ...LIBRARY, balance: { ...LIBRARY.balance, made: 2 ** 53 } } }],
  ])('with %s there is none', (_, context) => {
    expect(balanceOf(context)).toBeUndefined();
  });

  it('has at most 17 causes, however many a client invents', () => {
    const dropped = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`c${at}`, 1]));
    const found = read({ balance: { made: 1, stored: 1, sent: 1, dropped } })?.dropped ?? [];
    expect(found).toHaveLength(17);
    expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(500);
    expect(found.at(-1)).toEqual({ cause: 'other', count: 484 });
  });

  it('has causes that are words, and cut names', () => {
    const dropped = { 'a\u0000b': 1, '': 2, ok: 3, none: 0, wrong: 'x' };
    const found = read({
      ...{ name: 'n'.repeat(100), version: 'v'.repeat(100) },
      balance: { made: 1, stored: 1, sent: 1, dropped },
    });
    expect(found).toMatchObject({ library: 'n'.repeat(64), version: 'v'.repeat(32) });
    expect(found?.dropped).toEqual([
      { cause: 'other', count: 3 },
      { cause: 'ok', count: 3 },
    ]);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (library, balance) => {
        balanceOf(library);
        balanceOf({ library });
        read({ balance: balance as object });
      }),
    );
  });
});
