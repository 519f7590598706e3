import type { ClickHouseClient } from '@clickhouse/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SmallParts } from './small-parts.ts';

const { signal } = new AbortController();

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => vi.useRealTimers());

/** A table whose parts have so many rows, named by them. */
function given(...rows: number[]) {
  const seen = { lists: 0, rows, isDown: false };
  const query = () => {
    seen.lists++;
    if (seen.isDown) return Promise.reject(new Error('ClickHouse is down'));
    const parts = seen.rows.map((count) => ({ name: `p${count}`, rows: String(count) }));
    return Promise.resolve({ json: () => Promise.resolve(parts) });
  };
  const client = { query } as unknown as Pick<ClickHouseClient, 'query'>;
  return { seen, parts: new SmallParts(client, 'profiles') };
}

it('Small parts have at most 400 rows for each wanted person', async () => {
  const { parts } = given(50_000_000, 400_001, 400_000, 20);
  expect(await parts.forPeople(1000, signal)).toEqual(['p400000', 'p20']);
  expect(await parts.forPeople(2000, signal)).toEqual(['p400001', 'p400000', 'p20']);
});

it('A part with more than an eighth of all rows is none, and one small part is not worth it', async () => {
  expect(await given(700, 101, 99, 1).parts.forPeople(1000, signal)).toEqual(['p101', 'p99', 'p1']);
  expect(await given(600, 150, 99, 1).parts.forPeople(1000, signal)).toEqual(['p99', 'p1']);
  expect(await given(1000, 1).parts.forPeople(1000, signal)).toEqual([]);
  expect(await given().parts.forPeople(1000, signal)).toEqual([]);
});

it('The list of parts is read again after 10 s, once for concurrent loads, and kept when that fails', async () => {
  const { parts, seen } = given(1000, 2, 1);
  await Promise.all([1, 2, 3].map(() => parts.forPeople(10, signal)));
  expect(seen.lists).toBe(1);
  seen.rows = [1000, 4, 3];
  expect(await parts.forPeople(10, signal)).toEqual(['p2', 'p1']);
  vi.advanceTimersByTime(10_000);
  seen.isDown = true;
  expect(await parts.forPeople(10, signal)).toEqual(['p2', 'p1']);
  vi.advanceTimersByTime(10_000);
  seen.isDown = false;
  expect(await parts.forPeople(10, signal)).toEqual(['p4', 'p3']);
});

it('The keys of all parts are read when each has at most 64 rows for each wanted person', async () => {
  const { parts } = given(6400, 6401, 10);
  expect(await parts.areAll(101, signal)).toBe(true);
  expect(await parts.areAll(100, signal)).toBe(false);
});

it('The keys of all parts are not read when the list of parts is not known', async () => {
  const { parts, seen } = given(10);
  seen.isDown = true;
  expect(await parts.areAll(1000, signal)).toBe(false);
  expect(await given().parts.areAll(1000, signal)).toBe(false);
});
