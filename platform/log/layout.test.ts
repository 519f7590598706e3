import { describe, expect, it } from 'vitest';
import { partitionsAt, partitionsProblem, type LogLayout } from './layout.ts';

const layout = (of: Partial<LogLayout> = {}): LogLayout => ({
  generation: 2,
  partitions: 6,
  created: 6,
  phase: 'steady',
  nextPartitions: undefined,
  change: undefined,
  topics: {},
  formerTopics: {},
  history: [
    { generation: 1, partitions: 4, epoch: 0 },
    { generation: 2, partitions: 6, epoch: 3 },
  ],
  ...of,
});

describe('the number of partitions that applies to a raw record', () => {
  it.each([
    [0, 4],
    [2, 4],
    [3, 6],
    [9, 6],
  ])('is that of its epoch: epoch %i, %i partitions', (epoch, partitions) =>
    expect(partitionsAt(layout(), epoch)).toBe(partitions),
  );
});

describe('an unannounced change of the number of partitions', () => {
  const problem = (of: Partial<LogLayout>, raw: number) =>
    partitionsProblem(layout(of), new Map([['events.raw', raw]]));

  it('is none when Kafka has what was recorded', () => expect(problem({}, 6)).toBeUndefined());

  it('is reported when there are more or fewer', () => {
    expect(problem({}, 8)).toContain(
      'events.raw has 8 instead of 6. Only the first 6 are used: the number decides',
    );
    expect(problem({}, 4)).toContain('events.raw has 4 instead of 6. Records of the missing');
  });

  it('is not seen in the partitions of a growth, nor in those that a cancelled one left', () => {
    const growing = { phase: 'preparing', nextPartitions: 8 } as const;
    expect([problem(growing, 6), problem(growing, 8)]).toEqual([undefined, undefined]);
    expect(problem({ created: 8 }, 8)).toBeUndefined();
    expect(problem(growing, 9)).toContain('events.raw has 9');
  });
});
