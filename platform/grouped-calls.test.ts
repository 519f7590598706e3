import { afterEach, describe, expect, it, vi } from 'vitest';
import { GroupedCalls, GroupOverloaded } from './grouped-calls.ts';

/** A store whose statements end when the test says so. */
function heldStore() {
  const statements: number[][] = [];
  const held: PromiseWithResolvers<undefined>[] = [];
  const run = async (inputs: number[]) => {
    statements.push(inputs);
    const one = Promise.withResolvers<undefined>();
    held.push(one);
    await one.promise;
    return inputs.map((input) => input * 10);
  };
  const end = async (at: number) => {
    held[at]?.resolve(undefined);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { statements, run, end };
}

/** A group on a clock of the test's, whose statements end at once. */
function timedGroup(options: {
  max: number;
  concurrency?: number;
  gatherMs?: number;
  intervalMs: number;
}) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const statements: number[][] = [];
  const run = (inputs: number[]) => {
    statements.push(inputs);
    return Promise.resolve(inputs);
  };
  const group = new GroupedCalls({ ...options, run });
  const call = async (...inputs: number[]) => {
    const calls = inputs.map((input) => group.call(input));
    await vi.advanceTimersByTimeAsync(0);
    return calls;
  };
  return { statements, call };
}

afterEach(() => {
  vi.useRealTimers();
});
const soon = () => new Promise((resolve) => setImmediate(resolve));

describe('concurrent calls', () => {
  it('are one statement, and those that come meanwhile the next', async () => {
    const { statements, run, end } = heldStore();
    const group = new GroupedCalls({ run });
    const first = [1, 2].map((input) => group.call(input));
    await soon();
    const later = [3, 4, 5].map((input) => group.call(input));
    await soon();
    expect(statements).toEqual([[1, 2]]);
    await end(0);
    expect(await Promise.all(first)).toEqual([10, 20]);
    expect(statements).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    await end(1);
    expect(await Promise.all(later)).toEqual([30, 40, 50]);
  });

  it('run a bounded number of statements, each of a bounded size', async () => {
    const { statements, run, end } = heldStore();
    const group = new GroupedCalls({ run, max: 2, concurrency: 2 });
    const calls = [1, 2, 3, 4, 5].map((input) => group.call(input));
    await soon();
    expect(statements).toEqual([
      [1, 2],
      [3, 4],
    ]);
    await end(1);
    expect(statements.at(-1)).toEqual([5]);
    await end(0);
    await end(2);
    expect(await Promise.all(calls)).toEqual([10, 20, 30, 40, 50]);
  });

  it('gather from the first of them on, and a full statement begins at once', async () => {
    const { statements, call } = timedGroup({ max: 3, gatherMs: 4, intervalMs: 10 });
    const calls = await call(1);
    await vi.advanceTimersByTimeAsync(3);
    calls.push(...(await call(2)));
    expect(statements).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(statements).toEqual([[1, 2]]);
    // It has gathered for long enough, but the interval is not over.
    calls.push(...(await call(3)));
    await vi.advanceTimersByTimeAsync(9);
    expect(statements).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(statements.at(-1)).toEqual([3]);
    await vi.advanceTimersByTimeAsync(20);
    calls.push(...(await call(4, 5, 6)));
    expect(statements.at(-1)).toEqual([4, 5, 6]);
    expect(await Promise.all(calls)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('begin statements at intervals, but a full one at once and the first after a pause', async () => {
    const { statements, call } = timedGroup({ max: 3, concurrency: 2, intervalMs: 10 });
    const calls = await call(1);
    expect(statements).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(4);
    calls.push(...(await call(2)), ...(await call(3)));
    expect(statements).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(6);
    expect(statements).toEqual([[1], [2, 3]]);
    calls.push(...(await call(4, 5, 6, 7)));
    expect(statements.slice(2)).toEqual([[4, 5, 6]]);
    await vi.advanceTimersByTimeAsync(20);
    expect(statements.slice(3)).toEqual([[7]]);
    calls.push(...(await call(8)));
    expect(statements.slice(4)).toEqual([[8]]);
    expect(await Promise.all(calls)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('that are too many are refused at once', async () => {
    const { run, end } = heldStore();
    const group = new GroupedCalls({ run, maxWaiting: 1 });
    const first = group.call(1);
    await soon();
    const second = group.call(2);
    await expect(group.call(3)).rejects.toBeInstanceOf(GroupOverloaded);
    await end(0);
    await end(1);
    expect(await Promise.all([first, second])).toEqual([10, 20]);
  });

  it('fail together when the store does, and the next ones are called again', async () => {
    let isDown = true;
    const group = new GroupedCalls({
      run: (inputs: number[]) =>
        isDown ? Promise.reject(new Error('down')) : Promise.resolve(inputs),
    });
    const failed = await Promise.allSettled([group.call(1), group.call(2)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isDown = false;
    expect(await group.call(3)).toBe(3);
  });

  it('with a value that PostgreSQL refuses fail alone', async () => {
    const group = new GroupedCalls({
      run: (inputs: number[]) =>
        inputs.includes(2)
          ? Promise.reject(Object.assign(new Error('invalid'), { code: '22021' }))
          : Promise.resolve(inputs),
    });
    const answers = await Promise.allSettled([1, 2, 3].map((input) => group.call(input)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});
