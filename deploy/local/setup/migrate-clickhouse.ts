import { migrateClickhouse } from '../../../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { ddlFolders } from '../../../projections/ddl-folders.ts';

const ran = await migrateClickhouse(parseSettings(clickhouseSettings, process.env), ddlFolders());
console.log(ran.length === 0 ? 'ClickHouse is up to date' : `ran ${ran.join(', ')}`);
