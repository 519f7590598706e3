import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RepeatedKeys } from './repeated-keys.ts';
import { RepeatedTexts } from './repeated-texts.ts';

it('a repeated text is what Buffer.toString gives, whatever came before', () => {
  const texts = new RepeatedTexts();
  const few = fc.array(fc.constantFrom(0x61, 0x62, 0xd8, 0xb3, 0xff), { maxLength: 34 });
  const bytes = fc.oneof(few, fc.array(fc.nat(255), { maxLength: 34 }));
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 20 }), (all) => {
      for (const one of [...all, ...all]) {
        const within = Buffer.from([1, ...one, 2]);
        const text = texts.text(within, 1, 1 + one.length);
        expect(text).toBe(Buffer.from(one).toString());
      }
    }),
    { numRuns: 500 },
  );
});

it('a list of keys is the list that was returned for the same keys, and never for others', () => {
  const keys = new RepeatedKeys();
  const list = (all: readonly string[]) => {
    keys.begin();
    for (const key of all) keys.add(key);
    return keys.list();
  };
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.constantFrom('a', 'b', 'ab', 'ba', ''), { maxLength: 70 })),
      (all) => {
        for (const one of all) {
          const found = list(one);
          expect(found).toEqual(one);
          if (one.length <= 64) expect(list([...one])).toBe(found);
        }
      },
    ),
  );
});
