import { expect, it } from 'vitest';
import { recountEvents, type BookMinute } from './decide.ts';

const book = (minute: number, more: Partial<BookMinute> = {}): BookMinute => ({
  minute,
  accepted: 5,
  unbilled: 0,
  expired: 0,
  stored: 5,
  open: false,
  ...more,
});

it.each<[string, BookMinute[], [number, number][], object]>([
  ['nothing', [], [], { events: 0 }],
  ['what is stored', [book(1)], [[1, 5]], { events: 5, rows: 5 }],
  [
    'events that arrived after their retention',
    [book(1, { accepted: 7, expired: 2 })],
    [[1, 5]],
    { events: 7, expired: 2 },
  ],
  ['what retention has dropped since', [book(1)], [[1, 1]], { events: 5, rows: 1, dropped: 4 }],
  [
    'events in flight',
    [book(1, { accepted: 9, stored: 2, open: true })],
    [[1, 4]],
    { events: 9, rows: 4, under_way: 5 },
  ],
  ['no event that the platform wrote itself', [book(1, { unbilled: 2 })], [[1, 5]], { events: 3 }],
  [
    'events missing from the books',
    [],
    [
      [1, 5],
      [2, 1],
    ],
    { events: 6, rows: 6 },
  ],
  [
    'events partly missing from the books',
    [book(1, { accepted: 3, stored: 3 })],
    [[1, 5]],
    { events: 5, rows: 5 },
  ],
])('a recount from the stored rows counts %s', (_, minutes, stored, expected) =>
  expect(recountEvents(minutes, new Map(stored))).toMatchObject(expected),
);
