import { describe, expect, it } from 'vitest';
import { shareLimits } from './share-limits.ts';

const MIB = 1024 * 1024;
const sink = { records: 20_000, bytes: 8 * MIB, linger: 20, interval: 400, isInsert: true };

describe('the limits of a batch', () => {
  it('are the given ones in a process with up to four partitions', () => {
    for (const owned of [0, 1, 4]) expect(shareLimits(sink, owned)).toBe(sink);
  });

  // Regression: 40 partitions meant 100 inserts a second whatever the load, and 640 MB of buffers.
  it('keep the inserts of a second and the buffers of a process the same with 40 partitions', () => {
    const { interval = 0, bytes, records } = shareLimits(sink, 40);
    expect(40 / interval).toBe(4 / 400);
    expect(40 * bytes).toBeLessThanOrEqual(4 * sink.bytes);
    expect(40 * records).toBe(4 * sink.records);
  });

  it('have the interval up to as many partitions as it is meant for', () => {
    const many = { ...sink, interval: 800, intervalPartitions: 8 };
    expect([5, 8, 12, 50].map((owned) => shareLimits(many, owned).interval)).toEqual([
      800, 800, 1200, 5000,
    ]);
  });

  it('never delay rows by more than five seconds, nor make batches tiny', () => {
    const { interval, bytes, records } = shareLimits(sink, 1000);
    expect([interval, bytes, records]).toEqual([5000, 256 * 1024, 200]);
    expect(shareLimits({ ...sink, interval: 9000 }, 1000).interval).toBe(9000);
  });

  it('keep the interval of a batch that is no insert, unless it may grow', () => {
    const batch = { ...sink, isInsert: false };
    expect(shareLimits(batch, 40).interval).toBe(400);
    expect(shareLimits({ ...batch, maxInterval: 600 }, 5).interval).toBe(500);
    expect(shareLimits({ ...batch, maxInterval: 600 }, 40).interval).toBe(600);
  });
});
