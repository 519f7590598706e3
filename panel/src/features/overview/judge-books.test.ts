import { expect, it } from 'vitest';
import { judgeBooks } from './judge-books.ts';

const books = {
  ...{ received: 10, published: 8, duplicate: 1, rejected: 1, spooled: 0 },
  ...{ stored: 8, dead: 0, lost: 0, in_flight: 0 },
};

it.each([
  ['balance when everything published is stored', {}, 'balanced'],
  ['balance while events are on their way', { stored: 6, in_flight: 2 }, 'balanced'],
  ['name events that were not stored', { stored: 7, dead: 1 }, 'unstored'],
  ['do not balance when more is stored than published', { in_flight: -1 }, 'unbalanced'],
  ['of an account without events say nothing', { received: 0 }, 'empty'],
])('books %s', (_, change, verdict) => {
  expect(judgeBooks({ ...books, ...change })).toBe(verdict);
});
