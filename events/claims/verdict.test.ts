import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClaimId } from './claim-id.ts';
import { claimCode, claimVerdicts, isDuplicate, unguardedVerdicts } from './verdict.ts';

const ids = (names: string): ClaimId[] => names.split('') as ClaimId[];
const codesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('verdicts of a request', () => {
  it.each([
    ['fresh ids', 'ab', 'CC', ['claimed', 'claimed']],
    ['an id twice: published once', 'aba', 'CCO', ['claimed', 'claimed', 'repeated']],
    ['claimed by another request of the same call', 'a', 'O', ['pending-elsewhere']],
    ['pending elsewhere, twice in this request', 'aa', 'PP', ['pending-elsewhere', 'repeated']],
    ['held already, twice', 'aa', 'DD', ['durable', 'durable']],
    ['a place that left the window, twice', 'aa', 'EE', ['unguarded', 'repeated']],
  ])('%s', (_, names, codes, verdicts) => {
    expect(claimVerdicts({ ids: ids(names), codes: codesOf(codes), at: 0, pending: true })).toEqual(
      verdicts,
    );
  });

  it('are read from where the request stands in the call', () => {
    expect(claimVerdicts({ ids: ids('cd'), codes: codesOf('DDCP'), at: 2, pending: true })).toEqual(
      ['claimed', 'pending-elsewhere'],
    );
  });

  it('find repeats without pending claims too', () => {
    expect(claimVerdicts({ ids: ids('aa'), codes: codesOf('CC'), at: 0, pending: false })).toEqual([
      'claimed',
      'repeated',
    ]);
  });

  it('refuse a code that no script answers', () => {
    expect(() =>
      claimVerdicts({ ids: ids('a'), codes: codesOf('x'), at: 0, pending: true }),
    ).toThrow(RangeError);
    expect(() =>
      claimVerdicts({ ids: ids('ab'), codes: codesOf('C'), at: 0, pending: true }),
    ).toThrow(RangeError);
  });

  it('without a store publish every id exactly once', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...ids('abc')), { maxLength: 12 }), (names) => {
        const verdicts = unguardedVerdicts(names);
        const published = names.filter(
          (_, position) => !isDuplicate(verdicts[position] ?? 'durable'),
        );
        expect(published).toEqual([...new Set(names)]);
      }),
    );
  });

  it('know the letters of the scripts', () => {
    expect(Buffer.from(Object.values(claimCode)).toString()).toBe('CDEOP');
  });
});
