import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimScope } from './claim-id.ts';
import { claimWords } from './claim-words.ts';
import { RepeatedIds } from './repeated-ids.ts';

const KEYS = [0x9e3779b1, 0x85ebca77] as const;
const idsOf = (names: readonly string[]) => claimWords(claimScope(1, 'message'), names);
const repeats = (names: readonly string[]) =>
  [...names.keys()].filter((position) => names.indexOf(names[position] ?? '') < position);

describe('repeated ids of a request', () => {
  it('are the second and later ones, whatever earlier requests had', () => {
    const name = fc.oneof(
      fc.nat(5).map(String),
      fc.nat(400).map((one) => `n${one}`),
    );
    const requests = fc.array(fc.array(name, { maxLength: 60 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(requests, (all) => {
        const repeated = new RepeatedIds(KEYS);
        for (const names of all) expect(repeated.find(idsOf(names))).toEqual(repeats(names));
      }),
      { seed: 20261130 },
    );
  });

  it.each([500, 512, 513, 3000])('are found among %i ids', (count) => {
    const names = Array.from({ length: count }, (_, at) => String(at % (count - 7)));
    const repeated = new RepeatedIds(KEYS);
    for (let time = 0; time < 3; time++)
      expect(repeated.find(idsOf(names))).toEqual(repeats(names));
  });

  it('differ in one of their words', () => {
    const id = [1, 2, 3];
    const others = [
      [9, 2, 3],
      [1, 9, 3],
      [1, 2, 9],
    ];
    const words = new Int32Array([id, id, ...others, id, id].flat());
    expect(new RepeatedIds(KEYS).find({ words, from: 3, count: 5 })).toEqual([4]);
  });

  it('are found after the entries of the table have been counted to their end', () => {
    const repeated = new RepeatedIds(KEYS, 2 ** 30 - 5);
    const names = ['a', 'b', 'a', 'c'];
    for (let time = 0; time < 4; time++) expect(repeated.find(idsOf(names))).toEqual([2]);
  });
});
