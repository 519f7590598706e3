import { describe, expect, it } from 'vitest';
import { evolveHold, initialHold, splitBy, type HoldFact, type HoldState } from './evolve.ts';

const steady = (partitions: number, generation = 1) => ({
  fact: 'read' as const,
  layout: { generation, partitions, phase: 'steady' as const, nextPartitions: undefined },
});
const holding = (partitions: number, nextPartitions: number, generation = 1) => ({
  fact: 'read' as const,
  layout: { generation, partitions, phase: 'holding' as const, nextPartitions },
});
const passing = (partitions: number): HoldState => ({
  phase: 'passing',
  followed: { generation: 1, partitions },
  read: steady(partitions).layout,
});

/** given(state).when(facts).then(phase, partitions, by how many records are split) */
const given = (state: HoldState) => ({
  when: (...facts: HoldFact[]) => {
    const after = facts.reduce(evolveHold, state);
    return {
      then: (phase: string, partitions: number, by: number) =>
        expect([after.phase, after.followed.partitions, splitBy(after)]).toEqual([
          phase,
          partitions,
          by,
        ]),
    };
  },
});

describe('a gateway during a change of the layout', () => {
  it('passes records while nothing changes', () =>
    given(passing(4)).when(steady(4)).then('passing', 4, 4));

  it('holds records, split for both numbers, and drains older ones', () =>
    given(passing(4)).when(holding(4, 6)).then('draining', 4, 12));

  it('acknowledges once everything older is in Kafka, and waits', () =>
    given(passing(4)).when(holding(4, 6), { fact: 'drained' }, holding(4, 6)).then('held', 4, 12));

  it('waits for the normaliser before it releases by another number', () =>
    given(passing(4))
      .when(holding(4, 6), { fact: 'drained' }, steady(6, 2))
      .then('waiting', 4, 12));

  it('releases by the new number and passes records again', () => {
    const before = [holding(4, 6), { fact: 'drained' as const }, steady(6, 2)];
    given(passing(4))
      .when(...before, { fact: 'normalised' })
      .then('releasing', 6, 6);
    given(passing(4))
      .when(...before, { fact: 'normalised' }, { fact: 'released' })
      .then('passing', 6, 6);
  });

  it('releases by the former number when the growth was cancelled', () =>
    given(passing(4)).when(holding(4, 6), { fact: 'drained' }, steady(4)).then('releasing', 4, 4));

  it('that missed the whole growth holds, drains and waits first', () => {
    given(passing(4)).when(steady(6, 2)).then('draining', 4, 12);
    given(passing(4)).when(steady(6, 2), { fact: 'drained' }).then('waiting', 4, 12);
  });

  it('holds again when another growth begins while it waits or releases', () => {
    const waiting = [steady(6, 2), { fact: 'drained' as const }];
    given(passing(4))
      .when(...waiting, holding(6, 8, 2))
      .then('held', 4, 24);
    given(passing(4))
      .when(...waiting, { fact: 'normalised' }, holding(6, 8, 2))
      .then('draining', 6, 24);
  });

  it('ignores facts that belong to another phase', () =>
    given(passing(4))
      .when({ fact: 'drained' }, { fact: 'normalised' }, { fact: 'released' })
      .then('passing', 4, 4));
});

describe('a gateway that starts', () => {
  const { layout } = steady(6, 2);

  it('follows the recorded layout when none was followed before', () => {
    const state = initialHold({ followed: undefined, read: layout, hasHeld: false });
    expect([state.phase, state.followed.partitions]).toEqual(['passing', 6]);
  });

  it('holds first when the process before it followed another number', () => {
    const followed = { generation: 1, partitions: 4 };
    expect(initialHold({ followed, read: layout, hasHeld: false }).phase).toBe('draining');
  });

  it('holds new records behind those that were held', () => {
    const followed = { generation: 2, partitions: 6 };
    const state = initialHold({ followed, read: layout, hasHeld: true });
    expect(state.phase).toBe('draining');
    expect(evolveHold(state, { fact: 'drained' }).phase).toBe('releasing');
  });

  it('goes on by the layout of the process before it without PostgreSQL', () => {
    const followed = { generation: 1, partitions: 4 };
    const state = initialHold({ followed, read: undefined, hasHeld: false });
    expect([state.phase, splitBy(state)]).toEqual(['passing', 4]);
  });
});
