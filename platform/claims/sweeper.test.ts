import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Sweeper } from './sweeper.ts';

const swept = { status: 'swept', buckets: 1, visited: 1, seen: 0, removed: 0, packed: 0 } as const;

describe('the sweeper of claims', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('sweeps the other shards when one does not answer, and reports its error', async () => {
    const sweeps: number[] = [];
    const errors: string[] = [];
    const sweeper = new Sweeper({
      store: {
        shards: 4,
        sweep: ({ shard }) => {
          sweeps.push(shard);
          if (shard === 1 || shard === 2) return Promise.reject(new Error(`no answer of ${shard}`));
          return Promise.resolve(swept);
        },
      },
      dedupeTtl: 1000,
      partitions: 1,
      progress: () => ({ epoch: 0, processed: [] }),
      onLost: () => errors.push('lost'),
      onError: ({ message }) => errors.push(message),
    });
    sweeper.start();
    await vi.advanceTimersToNextTimerAsync();
    await sweeper.stop();
    expect(sweeps).toEqual([0, 1, 2, 3]);
    expect(errors).toEqual(['no answer of 1']);
  });

  it('visits fewer buckets in a call while they are full', async () => {
    const full = { ...swept, buckets: 262_144 };
    const visits: number[] = [];
    const sweeper = new Sweeper({
      store: {
        shards: 1,
        sweep: (of) => {
          visits.push(of.visits);
          const seen = visits.length < 4 ? 40 * of.visits : 0;
          return Promise.resolve({ ...full, visited: of.visits, seen });
        },
      },
      dedupeTtl: 48 * 3_600_000,
      partitions: 1,
      progress: () => ({ epoch: 0, processed: [] }),
      onLost: () => undefined,
      onError: () => undefined,
    });
    sweeper.start();
    await vi.advanceTimersToNextTimerAsync();
    await vi.advanceTimersToNextTimerAsync();
    await sweeper.stop();
    expect(visits).toEqual([1, 16, 16, 16, 50]);
  });
});
