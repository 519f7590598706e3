import { afterEach, describe, expect, it, vi } from 'vitest';
import { BatchedLookup } from './batched-lookup.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('lookups of a store', () => {
  it('begin queries at intervals, but the first one after a pause at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const queries: number[][] = [];
    const lookup = new BatchedLookup(
      (keys: number[]) => {
        queries.push(keys);
        return Promise.resolve(new Map(keys.map((key) => [key, key * 10])));
      },
      { intervalMs: 10 },
    );
    const found = [lookup.find(1)];
    expect(queries).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(4);
    found.push(lookup.find(2), lookup.find(1));
    await vi.advanceTimersByTimeAsync(5);
    found.push(lookup.find(2));
    expect(queries).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(queries).toEqual([[1], [2, 1]]);
    await vi.advanceTimersByTimeAsync(10);
    found.push(lookup.find(3));
    expect(queries).toEqual([[1], [2, 1], [3]]);
    expect(await Promise.all(found)).toEqual([10, 20, 10, 20, 30]);
  });
});
