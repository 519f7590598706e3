import { describe, expect, it } from 'vitest';
import { findGroup, groupsOf, type StateCount } from './groups.ts';

const count = (changes: Partial<StateCount>): StateCount => ({
  ...{
    fingerprint: 'aaaa1111',
    stage: 'normalise',
    reason: 'item_missing',
    state: 'dead',
    deadLetters: 1,
    events: 1,
    first: 10,
    last: 20,
    sample: 's',
  },
  ...changes,
});

describe('dead letters grouped by cause', () => {
  const groups = groupsOf([
    count({ deadLetters: 3, events: 5, first: 10, last: 20, sample: 'old' }),
    count({ state: 'redriven', deadLetters: 2, events: 2, first: 5, last: 30, sample: 'new' }),
    count({
      fingerprint: 'aabb2222',
      reason: 'body_not_json',
      state: 'discarded',
      deadLetters: 7,
      last: 90,
    }),
    count({ fingerprint: 'cccc3333', state: 'redriving', last: 15 }),
  ]);

  it('have for each group the counts of all states, the first and last time, and the newest sample', () => {
    expect(groups.find(({ group }) => group === 'aaaa1111')).toEqual({
      ...{
        group: 'aaaa1111',
        stage: 'normalise',
        reason: 'item_missing',
        deadLetters: 5,
        events: 7,
        first: 5,
        last: 30,
        sample: 'new',
      },
      states: { dead: 3, redriving: 0, redriven: 2, discarded: 0 },
    });
  });

  it('begin with the groups that wait for a decision', () => {
    expect(groups.map(({ group }) => group)).toEqual(['aaaa1111', 'cccc3333', 'aabb2222']);
  });

  it('are found by a fingerprint, by a unique prefix of it, and by a reason of one group', () => {
    expect(findGroup(groups, 'aaaa')).toMatchObject({ kind: 'one', group: { group: 'aaaa1111' } });
    expect(findGroup(groups, 'body_not_json')).toMatchObject({
      kind: 'one',
      group: { group: 'aabb2222' },
    });
    expect(findGroup(groups, 'aa')).toMatchObject({ kind: 'several' });
    expect(findGroup(groups, 'item_missing')).toMatchObject({ kind: 'several' });
    expect(findGroup(groups, 'zz')).toEqual({ kind: 'none' });
  });
});
