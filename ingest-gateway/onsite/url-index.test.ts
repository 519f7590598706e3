import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { URL_OPERATORS, type UrlCondition } from '../../events/channels/onsite/definition.ts';
import { matchesUrl } from '../../events/channels/onsite/targeting.ts';
import { UrlIndex } from './url-index.ts';

/** Of few characters, so that values are in addresses; one of two code units. */
const text = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', '/', 'ب', '😀'), maxLength });
const conditions = fc.array(
  fc.record({
    op: fc.constantFrom(...URL_OPERATORS),
    value: text(12).filter((value) => value !== ''),
  }),
  { minLength: 1, maxLength: 4 },
);

describe('an index of conditions on addresses', () => {
  it('finds what has a condition that holds, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(conditions, { maxLength: 20 }),
        fc.array(text(24), { minLength: 1, maxLength: 10 }),
        (subjects, urls) => {
          const index = new UrlIndex(subjects, (own) => own);
          const values = subjects.flat().map(({ value }) => value);
          for (const url of [...urls, ...values, ...values.map((value) => `a${value}`)]) {
            const expected = subjects.filter((own) => own.some((one) => matchesUrl(one, url)));
            expect(index.matching(url)).toEqual(new Set(expected));
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('looks at few of 50,000 conditions that have nothing to do with the address', () => {
    let looks = 0;
    const counted = (value: string): UrlCondition => ({
      ...{ op: 'contains', value: '' },
      // Read when the condition is compared, and some times when it is added.
      get value() {
        looks++;
        return value;
      },
    });
    const subjects = Array.from({ length: 50_000 }, (_, at) => [
      counted(`https://shop.ir/p/${at}?colour=red`),
    ]);
    const index = new UrlIndex(subjects, (own) => own);
    looks = 0;
    expect(index.matching('https://shop.ir/p/49?colour=red&size=1').size).toBe(1);
    expect(looks).toBeLessThan(5000);
  });
});
