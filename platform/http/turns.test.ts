import { describe, expect, it } from 'vitest';
import { Turns, type TurnOwner } from './turns.ts';

/** Turns whose rounds a test runs. */
function turnsOf(perRound: number) {
  const rounds: (() => void)[] = [];
  const turns = new Turns({ perRound, defer: (round) => rounds.push(round) });
  return { turns, rounds, runRound: () => rounds.shift()?.() };
}

describe('turns', () => {
  it('are given a bounded number at a time, and none before the first round', () => {
    const { turns, rounds, runRound } = turnsOf(2);
    const given: number[] = [];
    for (let step = 0; step < 5; step++) turns.take(1, () => given.push(step));
    expect([given, rounds.length, turns.waiting]).toEqual([[], 1, 5]);
    runRound();
    expect(given).toEqual([0, 1]);
    runRound();
    runRound();
    expect([given, rounds.length, turns.waiting]).toEqual([[0, 1, 2, 3, 4], 0, 0]);
  });

  it('delay an owner by one step of each other one, however many steps that has', () => {
    const { turns, runRound } = turnsOf(1);
    const given: TurnOwner[] = [];
    const take = (owner: TurnOwner) => turns.take(owner, () => given.push(owner));
    for (let step = 0; step < 1000; step++) take(1);
    runRound();
    take('10.0.0.1');
    take(2);
    for (let round = 0; round < 4; round++) runRound();
    expect(given).toEqual([1, 1, '10.0.0.1', 2, 1]);
  });

  it('that a step takes belong to a later round', () => {
    const { turns, rounds, runRound } = turnsOf(2);
    let steps = 0;
    const again = () => {
      if (++steps < 10) turns.take(1, again);
    };
    turns.take(1, again);
    runRound();
    expect([steps, rounds.length]).toEqual([2, 1]);
  });
});
