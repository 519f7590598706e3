import { describe, expect, it } from 'vitest';
import type { SourceBatch } from '../replay/source.ts';
import { generationsOf, splitByGeneration } from './by-generation.ts';

const generationOf = generationsOf({
  history: [
    { generation: 1, partitions: 4, epoch: 0 },
    { generation: 2, partitions: 6, epoch: 2 },
  ],
});

const batchOf = (...events: readonly (readonly [offset: number, epoch: number])[]): SourceBatch =>
  ({
    partition: 0,
    first: 10,
    last: 20,
    appendedAt: 5,
    unreadable: 0,
    events: events.map(([offset, epoch]) => ({ epoch, at: { offset, index: 0 } })),
  }) as unknown as SourceBatch;

const shapes = (batches: readonly SourceBatch[]) =>
  batches.map(({ first, last, events }) => [first, last, events.map(({ at }) => at.offset)]);

describe('a batch of the log', () => {
  it('is whole within a generation, also where the log went back in between', () => {
    const batch = batchOf([10, 0], [11, 1]);
    expect(splitByGeneration(batch, { source: 'raw', generationOf })).toEqual([batch]);
  });

  it('is split where another number of partitions begins', () => {
    const batch = batchOf([10, 1], [12, 1], [15, 2], [16, 2]);
    const parts = splitByGeneration(batch, { source: 'raw', generationOf });
    expect(shapes(parts)).toEqual([
      [10, 14, [10, 12]],
      [15, 20, [15, 16]],
    ]);
  });

  it('of rows is read again from its first record, behind the last position', () => {
    const batch = batchOf([110, 1], [115, 2]);
    const parts = splitByGeneration(batch, { source: 'normalised', generationOf });
    expect(shapes(parts)).toEqual([
      [10, 9, [110]],
      [10, 20, [115]],
    ]);
  });
});
