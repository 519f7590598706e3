import { expect, it } from 'vitest';
import { sweepSlack, visitsPerTurn } from './sweep.ts';

const HOURS_48 = 48 * 3_600_000;

it('a round of the sweep takes a sixteenth of the window, within what one turn may cost', () => {
  const visits = (buckets: number, dedupeTtl: number) =>
    visitsPerTurn({ buckets, dedupeTtl, every: 1_000, most: 2_048 });
  expect(visits(65_536, HOURS_48)).toBe(7);
  expect(visits(0, HOURS_48)).toBe(1);
  expect(visits(65_536, 5_000)).toBe(2_048);
  expect(visits(50_000_000, HOURS_48)).toBe(2_048);
});

it('places outlive their window by a sixteenth of it, at least ten minutes', () => {
  expect(sweepSlack(HOURS_48)).toBe(3 * 3_600_000);
  expect(sweepSlack(5_000)).toBe(600_000);
});
