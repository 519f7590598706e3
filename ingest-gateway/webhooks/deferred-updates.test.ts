import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { countsOf } from './connection-counters.ts';
import { DeferredUpdates } from './deferred-updates.ts';

let isDown: boolean;
let written: Map<string, number>;
let writes: number;
let failed: number;
let dropped: number;

function updates(
  capacity = 10,
  share?: { ownerOf: (update: number) => number; max: number },
): DeferredUpdates<string, number> {
  return new DeferredUpdates<string, number>({
    write: (batch) => {
      writes++;
      if (isDown) return Promise.reject(new Error('down'));
      for (const [key, value] of batch) written.set(key, (written.get(key) ?? 0) + value);
      return Promise.resolve();
    },
    merge: (before, after) => before + after,
    capacity,
    ...(share ? { share } : {}),
    linger: 10,
    random: () => 0.5,
    onFailed: () => failed++,
    onDropped: (count) => (dropped += count),
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  isDown = false;
  written = new Map();
  writes = failed = dropped = 0;
});
afterEach(() => vi.useRealTimers());

describe('deferred updates', () => {
  it('are merged and written together', async () => {
    const counters = updates();
    for (let time = 0; time < 100; time++) counters.add(`k${time % 2}`, 1);
    await vi.advanceTimersByTimeAsync(20);
    expect([writes, [...written]]).toEqual([
      1,
      [
        ['k0', 50],
        ['k1', 50],
      ],
    ]);
  });

  it('are retried without loss while they cannot be written', async () => {
    const counters = updates();
    isDown = true;
    counters.add('k', 1);
    await vi.advanceTimersByTimeAsync(2000);
    counters.add('k', 2);
    expect(failed).toBeGreaterThan(0);
    isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([...written]).toEqual([['k', 3]]);
    expect(counters.size).toBe(0);
  });

  it('are bounded: further keys are dropped and reported', async () => {
    const counters = updates(2);
    for (const key of ['a', 'b', 'c', 'd', 'a']) counters.add(key, 1);
    expect(counters.size).toBe(2);
    await vi.advanceTimersByTimeAsync(20);
    expect([[...written], dropped]).toEqual([
      [
        ['a', 2],
        ['b', 1],
      ],
      2,
    ]);
  });

  it('of one owner leave room for the others', async () => {
    const owned = updates(3, { ownerOf: (value) => value % 10, max: 2 });
    for (const [key, value] of [
      ['a', 11],
      ['b', 21],
      ['c', 31],
      ['d', 12],
    ] as const)
      owned.add(key, value);
    expect(owned.size).toBe(3);
    await vi.advanceTimersByTimeAsync(20);
    expect([[...written.keys()], dropped]).toEqual([['a', 'b', 'd'], 1]);
    owned.add('c', 31);
    owned.add('e', 41);
    await vi.advanceTimersByTimeAsync(20);
    expect([...written.keys()]).toEqual(['a', 'b', 'd', 'c', 'e']);
  });

  it('are written before the process ends, or abandoned in time', async () => {
    const counters = updates();
    counters.add('k', 1);
    await counters.close(1000);
    expect([...written]).toEqual([['k', 1]]);
    isDown = true;
    counters.add('k', 1);
    await counters.close(1000);
    expect(failed).toBe(1);
  });
});

describe('the counts of a delivery', () => {
  it('have a reason of at most 500 bytes, without bytes that PostgreSQL cannot store', () => {
    const { lastError } = countsOf({ kind: 'skipped', reason: `a\0b\n${'س'.repeat(300)}` });
    expect(lastError).toMatch(/^a b س+$/);
    expect(Buffer.byteLength(lastError)).toBeLessThanOrEqual(500);
  });
});
