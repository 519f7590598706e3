import { expect, it } from 'vitest';
import { checkSizes } from './sizes.ts';

const files = (core: number, entries: number) => [
  { name: 'v1.js', gzip: core },
  { name: 'worker.js', gzip: 10 },
  { name: 'onsite.0123.js', gzip: entries - 10 },
];

it('sizes within the budget are printed', () => {
  expect(checkSizes(files(3584, 14 * 1024))).toEqual([
    'core: 3584 of 3584 bytes (gzip)',
    'entries: 14336 of 14336 bytes (gzip)',
  ]);
});

it.each([
  [files(3585, 1000)],
  [files(3000, 14 * 1024 + 1)],
  [[{ name: 'onsite.0123.js', gzip: 1 }]],
])('a larger file, or no core, fails the build', (some) => {
  expect(() => checkSizes(some)).toThrow(/larger than its budget/);
});
