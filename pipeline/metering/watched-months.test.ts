import { expect, it } from 'vitest';
import { watchedMonths } from './watched-months.ts';

const AZAR = Date.parse('2026-11-21T20:30:00Z');

it.each([
  [AZAR - 1, ['1405-08']],
  [AZAR, ['1405-08', '1405-09']],
  [AZAR + 7_199_999, ['1405-08', '1405-09']],
  [AZAR + 7_200_000, ['1405-09']],
])('at %i the watched months are %j', (now, keys) =>
  expect(watchedMonths(now).map(({ key }) => key)).toEqual(keys),
);
