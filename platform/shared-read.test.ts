import { describe, expect, it } from 'vitest';
import { sharedRead } from './shared-read.ts';

/** A source whose reads end when the test says so. */
function source() {
  const reads: { end: () => void; fail: (error: Error) => void }[] = [];
  let value = 0;
  return {
    reads,
    read: () =>
      new Promise<number>((resolve, reject) => {
        const found = value;
        reads.push({ end: () => resolve(found), fail: reject });
      }),
    change: () => value++,
  };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('a shared read', () => {
  it('begins at once when none runs, and those asked for meanwhile become one that begins later', async () => {
    const of = {};
    const { reads, read, change } = source();
    const first = sharedRead(of, 'a', read);
    change();
    const others = [1, 2, 3].map(() => sharedRead(of, 'a', read));
    expect(reads.length).toBe(1);
    reads[0]?.end();
    expect(await first).toBe(0);
    await nextTurn();
    expect(reads.length).toBe(2);
    reads[1]?.end();
    expect(await Promise.all(others)).toEqual([1, 1, 1]);
  });

  it('that failed fails for those who asked for it, and the next one begins', async () => {
    const of = {};
    const { reads, read } = source();
    const first = sharedRead(of, 'a', read);
    const second = sharedRead(of, 'a', read);
    reads[0]?.fail(new Error('no connection'));
    await expect(first).rejects.toThrow('no connection');
    await nextTurn();
    reads[1]?.end();
    expect(await second).toBe(0);
    await nextTurn();
    const third = sharedRead(of, 'a', read);
    reads[2]?.end();
    expect(await third).toBe(0);
  });

  it('of another name or another source is another one', () => {
    const { reads, read } = source();
    const of = {};
    void sharedRead(of, 'a', read);
    void sharedRead(of, 'b', read);
    void sharedRead({}, 'a', read);
    expect(reads.length).toBe(3);
  });
});
