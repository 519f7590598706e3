import type { PGlite } from '@electric-sql/pglite';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { migratePostgres } from './migrate.ts';
import type { Database } from './pool.ts';
import { emptyEngine } from './testing/empty-engine.ts';

let engine: PGlite;
let folder: string;
/** What happens before a message is sent. */
let before: (text: string) => Promise<void> | void;

beforeAll(async () => {
  engine = await emptyEngine();
}, 60_000);
beforeEach(async () => {
  await engine.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  folder = mkdtempSync(join(tmpdir(), 'ravand-migrations-'));
  before = () => undefined;
  write('0001_a.sql', 'CREATE TABLE a (n int); INSERT INTO a VALUES (1);');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(() => engine.close());

const write = (file: string, sql: string) => writeFileSync(join(folder, file), sql);
const query = async (text: string, values?: unknown[]) => {
  await before(text);
  if (values) return await engine.query(text, values);
  return (await engine.exec(text)).at(-1);
};
const migrate = () => migratePostgres({ query } as unknown as Pick<Database, 'query'>, folder);
const count = async (table: string) => (await engine.query(`SELECT * FROM ${table}`)).rows.length;

it('Each migration runs once, with its checksum', async () => {
  expect(await migrate()).toEqual(['0001_a.sql']);
  write('0002_b.sql', 'INSERT INTO a VALUES (2);');
  expect(await migrate()).toEqual(['0002_b.sql']);
  expect(await migrate()).toEqual([]);
  expect(await count('a')).toBe(2);
});

it('A migration that was changed after it ran is refused, before any other runs', async () => {
  await migrate();
  write('0001_a.sql', 'CREATE TABLE a (n bigint); INSERT INTO a VALUES (1);');
  write('0002_b.sql', 'INSERT INTO a VALUES (2);');
  await expect(migrate()).rejects.toThrow(
    '0001_a.sql: changed after it ran in PostgreSQL. Nothing was run. A landed migration never changes',
  );
  expect(await count('a')).toBe(1);
});

it('What an earlier release ran without a checksum gets one, and is verified from then on', async () => {
  await engine.exec(`CREATE TABLE schema_migrations
    (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now());
    INSERT INTO schema_migrations (name) VALUES ('0001_a.sql')`);
  expect(await migrate()).toEqual([]);
  write('0001_a.sql', 'SELECT 1');
  await expect(migrate()).rejects.toThrow('changed after it ran');
});

it('A migration that fails changes nothing and runs again', async () => {
  write('0002_b.sql', 'INSERT INTO a VALUES (2); SELECT 1/0;');
  await expect(migrate()).rejects.toThrow('division by zero');
  expect(await count('a')).toBe(1);
  write('0002_b.sql', 'INSERT INTO a VALUES (3);');
  expect(await migrate()).toEqual(['0002_b.sql']);
});

it('The later one of two runs finds what the other one did', async () => {
  const other = {
    query: async (text: string, values?: unknown[]) =>
      values ? await engine.query(text, values) : (await engine.exec(text)).at(-1),
  };
  before = async (text) => {
    if (!text.includes('INSERT INTO schema_migrations')) return;
    before = () => undefined;
    await migratePostgres(other as unknown as Pick<Database, 'query'>, folder);
  };
  expect(await migrate()).toEqual([]);
  expect(await count('a')).toBe(1);
});

it.each(['23505', '42P07', '42710'])(
  'Two runs that create the table of migrations at once both go on: error %s',
  async (code) => {
    let refused = false;
    before = (text) => {
      if (refused || !text.startsWith('CREATE TABLE IF NOT EXISTS schema_migrations')) return;
      refused = true;
      throw Object.assign(new Error('type "schema_migrations" already exists'), { code });
    };
    expect(await migrate()).toEqual(['0001_a.sql']);
    expect(refused).toBe(true);
  },
);

it('A statement gives up waiting for a lock after seconds, has no other limit, and is repeated', async () => {
  const limits: unknown[] = [];
  write(
    '0001_a.sql',
    `CREATE TABLE a AS SELECT current_setting('lock_timeout') AS lock,
    current_setting('statement_timeout') AS statement`,
  );
  let refused = 2;
  before = (text) => {
    if (!text.includes('INSERT INTO schema_migrations') || refused-- <= 0) return;
    throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
  };
  expect(await migrate()).toEqual(['0001_a.sql']);
  limits.push(...(await engine.query('SELECT * FROM a')).rows);
  expect(limits).toEqual([{ lock: '3s', statement: '0' }]);
  const { rows } = await engine.query(`SELECT current_setting('lock_timeout') AS lock`);
  expect(rows).toEqual([{ lock: '0' }]);
});
