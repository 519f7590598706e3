import { expect, it } from 'vitest';
import { layoutOf, MAX_MEMORY_BYTES, MIN_MEMORY_BYTES } from './memory-layout.ts';

it.each([
  [MIN_MEMORY_BYTES, 1],
  [MIN_MEMORY_BYTES + 12_345, 3],
  [MAX_MEMORY_BYTES, 2],
  // REPORT_THREADS at most
  [MAX_MEMORY_BYTES, 64],
])('the parts of %d bytes for %d threads follow one another, below 4 GiB', (bytes, threads) => {
  const layout = layoutOf(bytes, threads);
  const { pool, turn, lists, pages } = layout;
  const own = layout.threads;
  const order = [
    ...[pool, turn, lists, ...own.flatMap(({ state, gaps }) => [state, gaps])],
    ...[layout.clearedBytes, pages.from, pages.to],
    ...own.flatMap(({ counts, paths, numbers, people, keys, rows }) => [
      ...[counts, paths, numbers, people, keys, rows.from, rows.to],
    ]),
    layout.bytes,
  ];
  expect(order).toEqual(order.toSorted((one, other) => one - other));
  expect(layout.bytes).toBeLessThan(2 ** 32);
  expect(pages.from % 2 ** 13).toBe(0);
  expect((pages.to - pages.from) % 2 ** 13).toBe(0);
  expect(pages.to - pages.from).toBeGreaterThan(bytes - 2 ** 13);
});
