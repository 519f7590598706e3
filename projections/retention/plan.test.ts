import { describe, expect, it } from 'vitest';
import { isDue, leavesBelow } from './plan.ts';

const HOUR = 3_600_000;

describe('retention', () => {
  it.each([
    ['never enforced', { lastDay: undefined, sinceMidnight: 0 }, true],
    ['enforced today', { lastDay: 100, sinceMidnight: 20 * HOUR }, false],
    ['before the hour', { lastDay: 99, sinceMidnight: 3 * HOUR - 1 }, false],
    ['from the hour on', { lastDay: 99, sinceMidnight: 3 * HOUR }, true],
    ['a day was missed: at once', { lastDay: 98, sinceMidnight: 0 }, true],
  ])('%s', (_, clock, due) => {
    expect(isDue({ day: 100, runAt: 3 * HOUR, ...clock })).toBe(due);
  });

  it('leaves to the tables what is kept as long as they keep it', () => {
    const now = 1_000 * 86_400_000;
    expect(leavesBelow(30, now)).toBe(970 * 86_400_000);
    expect(leavesBelow(399, now)).toBe(601 * 86_400_000);
    for (const days of [0, 400, 3650]) expect(leavesBelow(days, now)).toBeUndefined();
  });
});
