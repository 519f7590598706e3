import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DemoKeys } from '../../../cli/stack/ready.ts';
import { seedDemo } from '../../../ops/admin/seed-demo.ts';
import { createLog } from '../../../platform/log.ts';
import { COMMAND_CONNECT_MS, connectPostgres } from '../../../platform/postgres/pool.ts';
import { sealingSettings } from '../../../platform/sealing-settings.ts';
import { formatAddress } from '../../../platform/setting-kinds.ts';
import { postgresSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { homeOf } from '../../../cli/stack/home.ts';
import { readJsonFile, writeJsonFile } from '../../../cli/json-file.ts';
import { sandboxAddresses } from '../../sandbox/config.ts';

const home = homeOf({ checkout: join(import.meta.dirname, '../../..'), env: process.env });
const settings = parseSettings(
  { ...postgresSettings, ...sealingSettings, ...sandboxAddresses },
  process.env,
);
const database = connectPostgres({
  url: settings.DATABASE_URL,
  log: createLog({ part: 'demo-account', level: 'info' }),
  name: 'ravand-demo',
  max: 1,
  connectTimeout: COMMAND_CONNECT_MS,
});
try {
  const kept = readJsonFile<DemoKeys>(home.demoFile);
  const [http, smtp] = [settings.SANDBOX_ADDR, settings.SANDBOX_SMTP_ADDR];
  if (!http || !smtp) throw new Error('SANDBOX_ADDR and SANDBOX_SMTP_ADDR have to be set');
  const sandbox = { url: `http://${formatAddress(http)}`, smtp };
  const sealer = settings.SEALING_KEY;
  const demo = await seedDemo({ database, sealer, kept, sandbox, now: Date.now() });
  // The database holds hashes and sealed secrets only: what is not written down here is lost.
  if (!isDeepStrictEqual(demo, kept)) writeJsonFile(home.demoFile, demo);
  console.log(`the demo account is ${demo.account_id}`);
} finally {
  await database.end();
}
