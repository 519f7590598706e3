import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { emptyEngine } from './empty-engine.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ravand-pglite-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('An engine from the stored dump is empty, and is what initdb makes', async () => {
  const first = await emptyEngine(folder);
  await first.exec('CREATE TABLE a (n int)');
  const [file, ...others] = readdirSync(folder);
  expect(file).toMatch(/^empty-\d+\.\d+\.\d+\.tar$/);
  expect(others).toEqual([]);
  const second = await emptyEngine(folder);
  const facts = `SELECT current_user, current_database(), current_setting('server_encoding') AS encoding,
    current_setting('TimeZone') AS zone, current_setting('search_path') AS path,
    (SELECT datcollate FROM pg_database WHERE datname = current_database()) AS collation`;
  expect((await second.query(facts)).rows).toEqual((await first.query(facts)).rows);
  const tables = await second.query(`SELECT FROM pg_tables WHERE schemaname = 'public'`);
  expect(tables.rows).toEqual([]);
  await Promise.all([first.close(), second.close()]);
});
