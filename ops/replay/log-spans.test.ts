import type { Admin } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import { belowBounds, spansOf } from './log-spans.ts';
import type { ReplayRequest } from './request.ts';

const WHOLE: ReplayRequest = {
  topic: 'events.raw',
  from: undefined,
  to: undefined,
  offsets: [],
  account: undefined,
  event: undefined,
  into: undefined,
};

/** A log whose record at offset n was taken at the time n. */
function logOf(ends: Record<number, [low: number, high: number]>): Admin {
  const partitions = Object.entries(ends).map(([partition, [low, high]]) => ({
    partition: Number(partition),
    low,
    high,
  }));
  return {
    fetchTopicOffsets: () =>
      Promise.resolve(
        partitions.map(({ partition, low, high }) => ({
          partition,
          low: String(low),
          high: String(high),
          offset: String(high),
        })),
      ),
    fetchTopicOffsetsByTimestamp: (_: string, time: number) =>
      Promise.resolve(
        partitions.map(({ partition, low, high }) => ({
          partition,
          offset: String(time >= high ? -1 : Math.max(low, time)),
        })),
      ),
  } as unknown as Admin;
}

describe('the offsets of a request', () => {
  const log = logOf({ 0: [0, 100], 1: [40, 90] });
  it('are the whole log, a time, or what was named', async () => {
    expect(await spansOf(log, WHOLE)).toEqual([
      { partition: 0, from: 0, to: 100 },
      { partition: 1, from: 40, to: 90 },
    ]);
    expect(await spansOf(log, { ...WHOLE, from: 50, to: 95 })).toEqual([
      { partition: 0, from: 50, to: 95 },
      { partition: 1, from: 50, to: 90 },
    ]);
    expect(
      await spansOf(log, { ...WHOLE, offsets: [{ partition: 1, first: 45, last: 500 }] }),
    ).toEqual([{ partition: 1, from: 45, to: 90 }]);
  });

  it('that the log does not hold any more are refused with what it holds', async () => {
    await expect(
      spansOf(log, { ...WHOLE, offsets: [{ partition: 1, first: 39, last: 50 }] }),
    ).rejects.toThrow('does not hold 1:39 any more: the log holds 1:40-89');
    await expect(spansOf(log, { ...WHOLE, from: 30 })).rejects.toThrow('it holds 1:40-89');
  });

  it('end before what the live processors are at work on', () => {
    const spans = [
      { partition: 0, from: 0, to: 100 },
      { partition: 1, from: 40, to: 90 },
      { partition: 2, from: 5, to: 9 },
    ];
    const bounds = new Map([
      [0, { offset: 59, index: LAST_INDEX }],
      [1, { offset: 59, index: 3 }],
      [2, { offset: 2, index: LAST_INDEX }],
    ]);
    expect(belowBounds(spans, bounds)).toEqual({
      spans: [
        { partition: 0, from: 0, to: 60 },
        { partition: 1, from: 40, to: 59 },
        { partition: 2, from: 5, to: 5 },
      ],
      held: 40 + 31 + 4,
    });
  });
});
