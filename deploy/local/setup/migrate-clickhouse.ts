import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { clickhouseSettings, migrationUrlSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';

const settings = parseSettings({ ...clickhouseSettings, ...migrationUrlSettings }, process.env);
const ran = await migrateClickhouse(
  { ...settings, CLICKHOUSE_URL: settings.CLICKHOUSE_MIGRATION_URL || settings.CLICKHOUSE_URL },
  ddlFolders(),
);
console.log(ran.length === 0 ? 'ClickHouse is up to date' : `ran ${ran.join(', ')}`);
