import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { serverSettings } from '../../support/service-process.ts';
import { readyStack, rows } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const database = `migrate_${process.pid}`;
const settings = parseSettings(clickhouseSettings, {
  ...serverSettings(readyStack()),
  CLICKHOUSE_DATABASE: database,
});
const client = openClickhouse();
const folder = mkdtempSync(join(tmpdir(), 'ravand-ddl-'));
afterAll(async () => {
  await client.command({ query: `DROP DATABASE IF EXISTS ${database}` });
  rmSync(folder, { recursive: true, force: true });
});

const write = (file: string, sql: string) => writeFileSync(join(folder, file), sql);
const migrate = () => migrateClickhouse(settings, [folder]);
const TABLE = 'CREATE TABLE IF NOT EXISTS a (n Int32) ENGINE = MergeTree ORDER BY n;\n';

it('Migrations that run at the same time leave every column once, and refuse a later change', async () => {
  const columns = Array.from({ length: 12 }, (_, n) => `c${n}`);
  const add = columns.map((name) => `ALTER TABLE a ADD COLUMN IF NOT EXISTS ${name} String;\n`);
  write('0001_a.sql', TABLE);
  write('0002_columns.sql', add.join(''));
  await Promise.all([migrate(), migrate(), migrate()]);
  const found = await rows<{ name: string }>(
    client,
    `SELECT name FROM system.columns WHERE database = {d:String} AND table = 'a' ORDER BY position`,
    { d: database },
  );
  expect(found.map(({ name }) => name)).toEqual(['n', ...columns]);
  expect(await migrate()).toEqual([]);
  write('0001_a.sql', `${TABLE}-- changed\n`);
  write('0003_b.sql', TABLE.replaceAll(' a ', ' b '));
  await expect(migrate()).rejects.toThrow('0001_a.sql: changed after it ran in ClickHouse');
  const tables = await rows(client, `SELECT name FROM system.tables WHERE database = {d:String}`, {
    d: database,
  });
  expect(tables).not.toContainEqual({ name: 'b' });
});

it('What an earlier release ran without a checksum is not run again, and is verified from then on', async () => {
  write('0001_a.sql', TABLE);
  rmSync(join(folder, '0003_b.sql'), { force: true });
  await client.command({ query: `ALTER TABLE ${database}.schema_migrations DROP COLUMN checksum` });
  await client.command({ query: `DROP TABLE ${database}.a` });
  expect(await migrate()).toEqual([]);
  write('0001_a.sql', `${TABLE}-- changed\n`);
  await expect(migrate()).rejects.toThrow('0001_a.sql: changed after it ran in ClickHouse');
});
