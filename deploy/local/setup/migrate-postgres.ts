import { join } from 'node:path';
import { createLog } from '../../../platform/log.ts';
import { migratePostgres } from '../../../platform/postgres/migrate.ts';
import { COMMAND_CONNECT_MS, connectPostgres } from '../../../platform/postgres/pool.ts';
import { postgresSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';

const settings = parseSettings(postgresSettings, process.env);
const log = createLog({ part: 'migrate-postgres', level: 'info' });
const database = connectPostgres({
  ...{ url: settings.DATABASE_URL, log, name: 'ravand-migrate' },
  // A migration may read a year of history.
  queryTimeout: 0,
  connectTimeout: COMMAND_CONNECT_MS,
});
try {
  const ran = await migratePostgres(
    database,
    join(import.meta.dirname, '../../migrations/postgres'),
  );
  console.log(ran.length === 0 ? 'PostgreSQL is up to date' : `ran ${ran.join(', ')}`);
} finally {
  await database.end();
}
