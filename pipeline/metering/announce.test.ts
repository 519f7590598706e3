import { expect, it } from 'vitest';
import { reachedPercents } from './announce.ts';

it.each([
  [0, 0, []],
  [5, 0, []],
  [79, 100, []],
  [80, 100, [80]],
  [100, 100, [100, 80]],
  [125, 100, [125, 100, 80]],
  [299, 100, [150, 125, 100, 80]],
  [300, 100, [300, 150, 125, 100, 80]],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, [100, 80]],
])('a meter of %i with an allowance of %i has reached %j percent', (value, allowance, expected) => {
  expect(reachedPercents(value, allowance)).toEqual(expected);
});
