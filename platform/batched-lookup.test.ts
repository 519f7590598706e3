import { afterEach, describe, expect, it, vi } from 'vitest';
import { BatchedLookup } from './batched-lookup.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Lookups of a store that answers at once, with ten milliseconds between two queries. */
function timedLookup() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const queries: number[][] = [];
  const lookup = new BatchedLookup(
    (keys: number[]) => {
      queries.push(keys);
      return Promise.resolve(new Map(keys.map((key) => [key, key * 10])));
    },
    { intervalMs: 10 },
  );
  return { queries, lookup };
}

describe('lookups of a store', () => {
  it('begin queries at intervals while many come, the first ones at once', async () => {
    const { queries, lookup } = timedLookup();
    const found = Array.from({ length: 8 }, () => lookup.find(1));
    expect(queries).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(4);
    found.push(lookup.find(2), lookup.find(1));
    await vi.advanceTimersByTimeAsync(5);
    found.push(lookup.find(2));
    expect(queries).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(queries).toEqual([[1], [2, 1]]);
    await vi.advanceTimersByTimeAsync(20);
    found.push(lookup.find(3));
    expect(queries).toEqual([[1], [2, 1], [3]]);
    expect(await Promise.all(found)).toEqual([...Array<number>(8).fill(10), 20, 10, 20, 30]);
  });

  // Regression: every request but the first of a client that waits for each answer took 35 ms.
  it('that follow each other wait for nothing', async () => {
    const { queries, lookup } = timedLookup();
    for (let key = 0; key < 60; key++) {
      expect(await lookup.find(key)).toBe(key * 10);
      await vi.advanceTimersByTimeAsync(key % 3);
    }
    expect(queries).toHaveLength(60);
  });

  it('are one query for all keys that are asked for while another one runs', async () => {
    const { queries, lookup } = timedLookup();
    const found = [1, 2, 3].map((key) => lookup.find(key));
    expect(await Promise.all(found)).toEqual([10, 20, 30]);
    expect(queries).toEqual([[1], [2, 3]]);
  });
});
