import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';

const projections = join(import.meta.dirname, '../../../projections');
const folders = readdirSync(projections)
  .map((name) => join(projections, name, 'ddl'))
  .filter((folder) => existsSync(folder));
const ran = await migrateClickhouse(parseSettings(clickhouseSettings, process.env), folders);
console.log(ran.length === 0 ? 'ClickHouse is up to date' : `ran ${ran.join(', ')}`);
