import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { retentionPicture, triangleOf } from './triangle.ts';

const plain = (lines: string[]) => lines.map(stripVTControlCharacters);

it('the retention picture has one line per cohort with people, and marks periods that are not over', () => {
  const cohorts = [
    { start: '1405-08-02', size: 200, returned: [100, 60, 7] },
    { start: '1405-08-09', size: 0, returned: [0, 0] },
    { start: '1405-08-16', size: 1000, returned: [240], incomplete_from: 0 },
  ];
  expect(plain(retentionPicture(cohorts, 'week'))).toEqual([
    'first seen  people  week 0  week 1  week 2',
    '1405-08-02     200 █  50%  ▓  30%  ░   4% ',
    '1405-08-16   1,000 ▒  24%…',
  ]);
  expect(retentionPicture([], 'day')).toEqual(['nobody']);
});

it.each([
  [1, { period: 'day', periods: 2 }],
  [9, { period: 'day', periods: 9 }],
  [30, { period: 'week', periods: 6 }],
  [400, { period: 'week', periods: 9 }],
])('a history of %i days is shown in periods that fit the picture', (days, expected) =>
  expect(triangleOf(days)).toEqual(expected),
);
