import { describe, expect, it } from 'vitest';
import { expiresBelow, isDue } from './plan.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const today = 100;

describe('given that retention runs at 03:00 in Tehran', () => {
  const runAt = 3 * HOUR;
  it.each([
    ['it never ran, then it is due at once', undefined, 0, true],
    ['it ran today, then it is not due', today, 20 * HOUR, false],
    ['it ran yesterday and it is before 03:00, then it is not due', today - 1, runAt - 1, false],
    ['it ran yesterday and it is 03:00, then it is due', today - 1, runAt, true],
    ['it missed yesterday, then it is due at once', today - 2, 0, true],
  ])('when %s', (_, lastDay, sinceMidnight, due) => {
    expect(isDue({ day: today, runAt, lastDay, sinceMidnight })).toBe(due);
  });
});

describe('given a time', () => {
  const now = 1_000 * DAY;
  it.each([30, 399])('when an account keeps %i days, then older events expire', (days) => {
    expect(expiresBelow(days, now)).toBe(now - days * DAY);
  });
  it.each([0, 400, 3650])(
    'when an account keeps %i days, then the TTL of the table applies',
    (days) => {
      expect(expiresBelow(days, now)).toBeUndefined();
    },
  );
});
