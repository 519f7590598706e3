import { expect, it } from 'vitest';
import { checkSizes } from './sizes.ts';

const files = (core: number, entries: number) => [
  { name: 'v1.js', gzip: core },
  { name: 'worker.js', gzip: 10 },
  { name: 'onsite.0123.js', gzip: entries - 10 },
];

it('sizes within the budget are printed', () => {
  expect(checkSizes(files(3500, 14_000))).toEqual([
    'core: 3500 of 3500 bytes (gzip)',
    'entries: 14000 of 14000 bytes (gzip)',
  ]);
});

it.each([[files(3501, 1000)], [files(3000, 14_001)], [[{ name: 'onsite.0123.js', gzip: 1 }]]])(
  'a larger file, or no core, fails the build',
  (some) => {
    expect(() => checkSizes(some)).toThrow(/larger than its budget/);
  },
);
