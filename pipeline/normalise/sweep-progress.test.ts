import { describe, expect, it } from 'vitest';
import { sweepProgress } from './sweep-progress.ts';

const known = {
  at: 1000,
  ends: new Map([
    [0, { low: 0, high: 5 }],
    [1, { low: 0, high: 5 }],
    [2, { low: 3, high: 3 }],
    [3, { low: 0, high: 2 }],
  ]),
};

describe('sweepProgress', () => {
  it('tells of each partition only what is certain', () => {
    const positions = [
      { partition: 0, next: 5, settledAt: 400 }, // at its end when the ends were asked for
      { partition: 1, next: 4, settledAt: 400 }, // behind
      { partition: 2, next: undefined, settledAt: undefined }, // nothing in it
      { partition: 3, next: undefined, settledAt: undefined }, // nothing known
      { partition: 9, next: 7, settledAt: undefined }, // ends not known
    ];
    expect(sweepProgress(6, positions, known)).toEqual({
      epoch: 6,
      settled: [
        { partition: 0, at: 1000 },
        { partition: 1, at: 400 },
        { partition: 2, at: 1000 },
      ],
    });
    expect(sweepProgress(6, positions, undefined).settled).toEqual([
      { partition: 0, at: 400 },
      { partition: 1, at: 400 },
    ]);
  });
});
