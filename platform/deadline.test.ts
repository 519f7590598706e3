import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withTimeLimit } from './deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

test('work that takes too long is aborted, also when no time was left for it', async () => {
  for (const ms of [50, -1]) {
    const working = withTimeLimit(ms, untilAborted);
    const failed = expect(working).rejects.toMatchObject({ name: 'TimeoutError' });
    await vi.advanceTimersByTimeAsync(50);
    await failed;
  }
});

test('work that ends in time leaves no timer, and its signal does not abort later', async () => {
  const signals: AbortSignal[] = [];
  const done = withTimeLimit(50, (signal) => {
    signals.push(signal);
    return Promise.resolve('done');
  });
  await expect(done).resolves.toBe('done');
  const failed = withTimeLimit(50, () => Promise.reject(new Error('refused')));
  await expect(failed).rejects.toThrow('refused');
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
});
