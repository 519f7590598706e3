import { expect, test } from 'vitest';
import { StackScheduler, unusedShare } from './stack-scheduler.ts';

/** Ends when `end` is called. */
function work() {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const state = { isBegun: false, end: () => end() };
  return Object.assign(state, {
    begin: async () => {
      state.isBegun = true;
      await ended;
    },
  });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a second stack waits until the first has ended, or the machine has time', async () => {
  const { signal } = new AbortController();
  let idle = 0.1;
  const scheduler = new StackScheduler(async () => {
    await turn();
    return idle;
  });
  const [first, second, third] = [work(), work(), work()];
  const running = [first, second].map((one) => scheduler.run(one.begin, signal));
  for (let at = 0; at < 10; at++) await turn();
  expect([first.isBegun, second.isBegun]).toEqual([true, false]);
  first.end();
  for (let at = 0; at < 10; at++) await turn();
  expect(second.isBegun).toBe(true);
  running.push(scheduler.run(third.begin, signal));
  for (let at = 0; at < 10; at++) await turn();
  expect(third.isBegun).toBe(false);
  idle = 0.5;
  for (let at = 0; at < 10; at++) await turn();
  expect(third.isBegun).toBe(true);
  for (const one of [second, third]) one.end();
  await Promise.all(running);
});

test('a run that is interrupted waits for nothing', async () => {
  const interrupt = new AbortController();
  const scheduler = new StackScheduler(async () => {
    await turn();
    return 0;
  });
  const [first, second] = [work(), work()];
  const running = [first, second].map((one) => scheduler.run(one.begin, interrupt.signal));
  for (const one of [first, second]) one.end();
  interrupt.abort();
  await Promise.all(running);
  expect(second.isBegun).toBe(true);
});

test('the unused time of the processors is a part of their time', async () => {
  const share = await unusedShare(50, new AbortController().signal);
  expect(share).toBeGreaterThanOrEqual(0);
  expect(share).toBeLessThanOrEqual(1);
});
