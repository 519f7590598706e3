import { expect, it } from 'vitest';
import { sweepSlack, visitsPerSweep } from './sweep.ts';

const HOURS_48 = 48 * 3_600_000;

it('a round over all buckets takes a 32nd of the window, within the limit per sweep', () => {
  const visits = (buckets: number, dedupeTtl: number) =>
    visitsPerSweep({ buckets, dedupeTtl, every: 1_000, max: 2_048 });
  expect(visits(65_536, HOURS_48)).toBe(13);
  expect(visits(0, HOURS_48)).toBe(1);
  expect(visits(65_536, 5_000)).toBe(2_048);
  expect(visits(50_000_000, HOURS_48)).toBe(2_048);
});

it('a resolved claim outlives its window by a sixteenth of it, and by at least ten minutes', () => {
  expect(sweepSlack(HOURS_48)).toBe(3 * 3_600_000);
  expect(sweepSlack(5_000)).toBe(600_000);
});
