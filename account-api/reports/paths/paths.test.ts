import { describe, expect, it } from 'vitest';
import { answerPaths } from './answer.ts';
import { OTHER } from './compile.ts';
import { parsePaths } from './request.ts';

const body = { start: { event: 'a' }, from: '2026-09-20', to: '2026-09-21' };
const DAY = 86_400_000;

describe('the request of paths', () => {
  it('has defaults: three places after the event, five events each, a day', () => {
    expect(parsePaths(body)).toMatchObject({
      ok: true,
      request: { direction: 'after', depth: 3, limit: 5, windowMs: DAY },
    });
  });

  it.each([
    ['no event', { start: { event: '' } }],
    ['six places', { depth: 6 }],
    ['no place', { depth: 0 }],
    ['eleven events', { limit: 11 }],
    ['a window of two months', { window_seconds: 60 * 86_400 }],
    ['another direction', { direction: 'around' }],
    [
      'eleven filters',
      { filters: Array.from({ length: 11 }, () => ({ property: 'p', op: 'is_set' })) },
    ],
  ])('is refused with %s', (_, change) => {
    expect(parsePaths({ ...body, ...change }).ok).toBe(false);
  });
});

describe('the answer of paths', () => {
  const read = parsePaths(body);
  if (!read.ok) throw new Error(read.problem.message);
  const { request } = read;
  const end = request.range.to + request.windowMs;
  const measured = { freshUntil: end, rowsRead: 0, elapsedMs: 0 };
  const rows = [
    { path: [], people: 3 },
    { path: ['b', 'c'], people: 2 },
    { path: ['b'], people: 1 },
    { path: ['a2'], people: 3 },
    { path: [OTHER], people: 9 },
  ];

  it('is a tree, most people first, then by name, the others last', () => {
    expect(answerPaths({ request, rows, measured })).toMatchObject({
      people: 18,
      next: [
        { event: 'a2', people: 3, next: [] },
        { event: 'b', people: 3, next: [{ event: 'c', people: 2, next: [] }] },
        { event: null, other: true, people: 9, next: [] },
      ],
    });
  });

  it('is incomplete as long as the last window is open', () => {
    const early = { ...measured, freshUntil: end - 1 };
    expect(answerPaths({ request, rows, measured }).meta.incomplete).toBe(false);
    expect(answerPaths({ request, rows, measured: early }).meta.incomplete).toBe(true);
  });
});
