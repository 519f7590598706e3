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

const FACTS = `SELECT current_user, current_database(), current_setting('server_encoding') AS encoding,
  current_setting('search_path') AS path,
  (SELECT datcollate FROM pg_database WHERE datname = current_database()) AS collation,
  (SELECT string_agg(nspname, ' ' ORDER BY nspname) FROM pg_namespace) AS schemas`;

it('An engine from the stored dump is empty, and like one that initdb made', async () => {
  const first = await emptyEngine(folder);
  await first.exec('CREATE TABLE a (n int)');
  const [file, ...others] = readdirSync(folder);
  expect(file).toMatch(/^empty-\d+\.\d+\.\d+\.tar$/);
  expect(others).toEqual([]);
  const second = await emptyEngine(folder);
  expect((await second.query(FACTS)).rows).toEqual([
    {
      ...{ current_user: 'postgres', current_database: 'postgres', encoding: 'UTF8' },
      ...{ path: 'public', collation: 'C' },
      schemas: 'information_schema pg_catalog pg_toast public',
    },
  ]);
  const tables = await second.query(`SELECT FROM pg_tables WHERE schemaname = 'public'`);
  expect(tables.rows).toEqual([]);
  await Promise.all([first, second].map((engine) => engine.close()));
});
