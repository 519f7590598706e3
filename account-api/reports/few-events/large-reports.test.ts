import { expect, it } from 'vitest';
import { LargeReports } from './large-reports.ts';

const DAY = 86_400_000;

it('an account is large for ranges as long as one that had too many events, and longer ones', () => {
  const large = new LargeReports(() => 0);
  large.add(1, 30 * DAY);
  large.add(1, 60 * DAY);
  const ranges = [7, 30, 60].map((days) => large.has(1, days * DAY));
  expect([...ranges, large.has(2, 30 * DAY)]).toEqual([false, true, true, false]);
  large.add(1, 7 * DAY);
  expect(large.has(1, 7 * DAY)).toBe(true);
});

it('an account is forgotten after some minutes', () => {
  let now = 0;
  const large = new LargeReports(() => now);
  large.add(1, DAY);
  now = 3_600_000;
  expect(large.has(1, DAY)).toBe(false);
  large.add(1, 30 * DAY);
  expect(large.has(1, DAY)).toBe(false);
});

it('accounts that nobody asked about for the longest time are forgotten first', () => {
  const large = new LargeReports(() => 0);
  for (let account = 0; account < 20_000; account++) large.add(account, DAY);
  expect(large.size).toBe(10_000);
  expect([large.has(0, DAY), large.has(19_999, DAY)]).toEqual([false, true]);
});
