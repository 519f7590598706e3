import { expect, it } from 'vitest';
import { LookInterval } from './look-interval.ts';

it('A process looks rarely after a minute in which it found nothing, and often at once when it did', () => {
  let now = 5000;
  const interval = new LookInterval({ busyMs: 1000, quietMs: 2000, now: () => now });
  expect(interval.after({ hasFound: false })).toBe(1000);
  now += 59_999;
  expect(interval.after({ hasFound: false })).toBe(1000);
  now += 1;
  expect(interval.after({ hasFound: false })).toBe(2000);
  now += 3_600_000;
  expect(interval.after({ hasFound: true })).toBe(1000);
  now += 59_999;
  expect(interval.after({ hasFound: false })).toBe(1000);
});
