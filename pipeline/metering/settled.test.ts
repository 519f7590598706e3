import { describe, expect, it } from 'vitest';
import { evolve, UNKNOWN, type Look } from './settled.ts';

const look = (
  at: number,
  [raw, normaliser, normalised, sink]: [number, number, number, number],
): Look => ({
  at,
  rawEnds: new Map([[0, raw]]),
  normaliserCommits: new Map([[0, normaliser]]),
  normalisedEnds: new Map([[0, normalised]]),
  sinkCommits: new Map([[0, sink]]),
});

describe('settled until', () => {
  it('is now when both hops stand at their ends, and for an idle log', () => {
    expect(evolve(UNKNOWN, look(5, [10, 10, 3, 3])).until).toBe(5);
    expect(evolve(UNKNOWN, look(5, [0, 0, 0, 0])).until).toBe(5);
  });

  it('moves on under steady traffic that never lets the ends be reached', () => {
    let state = evolve(UNKNOWN, look(1, [10, 8, 3, 2]));
    expect(state.until).toBe(0);
    state = evolve(state, look(2, [20, 12, 5, 4]));
    expect(state.until).toBe(0);
    state = evolve(state, look(3, [30, 22, 9, 5]));
    expect(state.until).toBe(1);
  });

  it('does not move while a hop stands still', () => {
    let state = evolve(UNKNOWN, look(1, [10, 9, 3, 3]));
    for (let at = 2; at < 9; at++) state = evolve(state, look(at, [10 + at, 9, 3, 3]));
    expect(state.until).toBe(0);
  });
});
