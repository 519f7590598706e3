import { describe, expect, it } from 'vitest';
import { FairQueue } from './fair-queue.ts';

/** Jobs that end when the test says so. */
function jobs(queue: FairQueue) {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  return {
    started,
    add: (account: number, name: string) =>
      queue.run(account, () => {
        started.push(name);
        return new Promise<string>((resolve) => ends.push(() => resolve(name)));
      }),
    endOne: async () => {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const OPTIONS = { concurrency: 1, maxWaiting: { total: 6, perAccount: 4 } };

describe('a fair queue', () => {
  it('lets accounts take turns, whatever one of them has queued', async () => {
    const { started, add, endOne } = jobs(new FairQueue(OPTIONS));
    for (const name of ['a1', 'a2', 'a3', 'a4']) void add(1, name);
    for (const name of ['b1', 'b2']) void add(2, name);
    for (let end = 0; end < 6; end++) await endOne();
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
  });

  it('refuses a job above the bound of its account or of all', () => {
    const queue = new FairQueue(OPTIONS);
    const { add } = jobs(queue);
    expect([1, 1, 1, 1, 1].map((account) => add(account, 'x') !== undefined)).toEqual(
      Array.from({ length: 5 }, () => true),
    );
    expect(add(1, 'x')).toBe(undefined);
    expect(add(2, 'x')).toBeInstanceOf(Promise);
    expect(add(3, 'x')).toBeInstanceOf(Promise);
    expect(add(4, 'x')).toBe(undefined);
    expect(queue.waiting).toBe(6);
  });

  it('runs as many jobs at once as it may, and goes on after one that fails', async () => {
    const queue = new FairQueue({ ...OPTIONS, concurrency: 2 });
    const failed = queue.run(1, () => Promise.reject(new Error('no')));
    const { started, add, endOne } = jobs(queue);
    void add(1, 'a');
    void add(1, 'b');
    expect(started).toEqual(['a']);
    await expect(failed).rejects.toThrow('no');
    await endOne();
    expect(started).toEqual(['a', 'b']);
  });

  it('leaves room for other accounts when one may not take it all', async () => {
    const queue = new FairQueue({ ...OPTIONS, concurrency: 2, concurrencyPerAccount: 1 });
    const { started, add, endOne } = jobs(queue);
    for (const name of ['a1', 'a2', 'a3']) void add(1, name);
    void add(2, 'b1');
    expect(started).toEqual(['a1', 'b1']);
    await endOne();
    expect(started).toEqual(['a1', 'b1', 'a2']);
    await endOne();
    expect(started).toEqual(['a1', 'b1', 'a2']);
    await endOne();
    expect(started).toEqual(['a1', 'b1', 'a2', 'a3']);
  });
});
