import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClaimId } from './claim-id.ts';
import { claimCode, claimVerdicts, isDuplicate, unguardedVerdicts } from './verdict.ts';

const ids = (names: string): ClaimId[] => names.split('') as ClaimId[];
const codesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the verdicts of a request', () => {
  it.each([
    ['new ids are claimed', 'ab', 'CC', ['claimed', 'claimed']],
    ['an id that occurs twice is published once', 'aba', 'CCO', ['claimed', 'claimed', 'repeated']],
    [
      'an id claimed by another request of the same call is pending elsewhere',
      'a',
      'O',
      ['pending-elsewhere'],
    ],
    ['an id pending elsewhere is published once', 'aa', 'PP', ['pending-elsewhere', 'repeated']],
    ['a durable id is a duplicate each time', 'aa', 'DD', ['durable', 'durable']],
    [
      'a resolved claim that left the window is published once',
      'aa',
      'EE',
      ['unguarded', 'repeated'],
    ],
  ])('say that %s', (_, names, codes, verdicts) => {
    expect(claimVerdicts({ ids: ids(names), codes: codesOf(codes), at: 0, pending: true })).toEqual(
      verdicts,
    );
  });

  it('are read from the offset of the request in the call', () => {
    expect(claimVerdicts({ ids: ids('cd'), codes: codesOf('DDCP'), at: 2, pending: true })).toEqual(
      ['claimed', 'pending-elsewhere'],
    );
  });

  it('mark repeated ids also without pending claims', () => {
    expect(claimVerdicts({ ids: ids('aa'), codes: codesOf('CC'), at: 0, pending: false })).toEqual([
      'claimed',
      'repeated',
    ]);
  });

  it('throw for an unknown code', () => {
    expect(() =>
      claimVerdicts({ ids: ids('a'), codes: codesOf('x'), at: 0, pending: true }),
    ).toThrow(RangeError);
    expect(() =>
      claimVerdicts({ ids: ids('ab'), codes: codesOf('C'), at: 0, pending: true }),
    ).toThrow(RangeError);
  });

  it('publish every id exactly once when Redis is unavailable', () => {
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

  it('use the codes of the scripts', () => {
    expect(Buffer.from(Object.values(claimCode)).toString()).toBe('CDEOP');
  });
});
