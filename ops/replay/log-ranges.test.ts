import type { Admin } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { LAST_INDEX } from '../../schemas/log-position.ts';
import { cutAtBounds, requestedRanges } from './log-ranges.ts';
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

describe('the ranges of a replay request', () => {
  const log = logOf({ 0: [0, 100], 1: [40, 90] });
  it('cover the whole topic, a time span, or the given offsets', async () => {
    expect(await requestedRanges(log, WHOLE)).toEqual([
      { partition: 0, from: 0, to: 100 },
      { partition: 1, from: 40, to: 90 },
    ]);
    expect(await requestedRanges(log, { ...WHOLE, from: 50, to: 95 })).toEqual([
      { partition: 0, from: 50, to: 95 },
      { partition: 1, from: 50, to: 90 },
    ]);
    expect(
      await requestedRanges(log, { ...WHOLE, offsets: [{ partition: 1, first: 45, last: 500 }] }),
    ).toEqual([{ partition: 1, from: 45, to: 90 }]);
  });

  it('are refused with the retained offsets when records are no longer retained', async () => {
    await expect(
      requestedRanges(log, { ...WHOLE, offsets: [{ partition: 1, first: 39, last: 50 }] }),
    ).rejects.toThrow('does not hold 1:39 any more: the log has 1:40-89');
    await expect(requestedRanges(log, { ...WHOLE, from: 30 })).rejects.toThrow('it holds 1:40-89');
  });

  it('end before the records that the live services still process', () => {
    const ranges = [
      { partition: 0, from: 0, to: 100 },
      { partition: 1, from: 40, to: 90 },
      { partition: 2, from: 5, to: 9 },
    ];
    const bounds = new Map([
      [0, { offset: 59, index: LAST_INDEX }],
      [1, { offset: 59, index: 3 }],
      [2, { offset: 2, index: LAST_INDEX }],
    ]);
    expect(cutAtBounds(ranges, bounds)).toEqual({
      ranges: [
        { partition: 0, from: 0, to: 60 },
        { partition: 1, from: 40, to: 59 },
        { partition: 2, from: 5, to: 5 },
      ],
      leftToLive: 40 + 31 + 4,
    });
  });
});
