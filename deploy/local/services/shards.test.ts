import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { shardCount } from './shards.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ravand-shards-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it('a home keeps the number of ClickHouse servers that it was made with', () => {
  const home = { dir, data: dir };
  expect([shardCount(home, ''), shardCount(home, '2')]).toEqual([1, 2]);
  mkdirSync(join(dir, 'clickhouse'));
  expect([shardCount(home, ''), shardCount(home, '1')]).toEqual([1, 1]);
  expect(() => shardCount(home, '2')).toThrow(/was made with 1 ClickHouse server, /);
  mkdirSync(join(dir, 'clickhouse-2'));
  expect(shardCount(home, '')).toBe(2);
  expect(() => shardCount(home, '1')).toThrow(/was made with 2 ClickHouse servers, /);
});
