import { PGlite } from '@electric-sql/pglite';
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

const FACTS = `SELECT current_user, current_database(), version(),
  current_setting('server_encoding') AS encoding, current_setting('TimeZone') AS zone,
  current_setting('search_path') AS path, current_setting('default_transaction_isolation') AS isolation,
  (SELECT datcollate FROM pg_database WHERE datname = current_database()) AS collation,
  (SELECT string_agg(nspname, ',' ORDER BY nspname) FROM pg_namespace) AS schemas,
  (SELECT string_agg(extname, ',' ORDER BY extname) FROM pg_extension) AS extensions`;

it('An engine from the stored dump is empty, and like one that initdb made', async () => {
  const first = await emptyEngine(folder);
  await first.exec('CREATE TABLE a (n int)');
  const [file, ...others] = readdirSync(folder);
  expect(file).toMatch(/^empty-\d+\.\d+\.\d+\.tar$/);
  expect(others).toEqual([]);
  const [second, plain] = await Promise.all([emptyEngine(folder), PGlite.create()]);
  expect((await second.query(FACTS)).rows).toEqual((await plain.query(FACTS)).rows);
  const tables = await second.query(`SELECT FROM pg_tables WHERE schemaname = 'public'`);
  expect(tables.rows).toEqual([]);
  await Promise.all([first, second, plain].map((engine) => engine.close()));
});
