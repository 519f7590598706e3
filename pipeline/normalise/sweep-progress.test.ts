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
  normalised: new Map([[0, 9]]),
};

describe('the progress for the sweep of claims', () => {
  it('reports only the partitions whose progress is known', () => {
    const partitions = [
      { partition: 0, next: 5, processedUntil: 400 }, // at its end when the ends were read
      { partition: 1, next: 4, processedUntil: 400 }, // behind
      { partition: 2, next: undefined, processedUntil: undefined }, // empty
      { partition: 3, next: undefined, processedUntil: undefined }, // progress unknown
      { partition: 9, next: 7, processedUntil: undefined }, // ends unknown
    ];
    expect(sweepProgress(6, partitions, known)).toEqual({
      epoch: 6,
      processed: [
        { partition: 0, until: 1000 },
        { partition: 1, until: 400 },
        { partition: 2, until: 1000 },
      ],
      ends: known.normalised,
    });
    expect(sweepProgress(6, partitions, undefined).processed).toEqual([
      { partition: 0, until: 400 },
      { partition: 1, until: 400 },
    ]);
  });
});
