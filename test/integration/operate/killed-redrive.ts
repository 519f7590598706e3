import { homeOf } from '../../../cli/stack/home.ts';
/**
 * `node killed-redrive.ts GROUP before|after|twice`: a redrive that ends with kill -9 before or
 * after its records are in the log; `twice` sends each record twice.
 */
import { connectPostgres } from '../../../platform/postgres/pool.ts';
import { openTools } from '../../../ops/dlq/redrive-tools.ts';
import { redriveGroup } from '../../../ops/dlq/redrive.ts';
import { RangeReader } from '../../../platform/kafka/read-range.ts';
import { operatorContext } from '../../../ops/operator-context.ts';

const [, , group = '', moment = ''] = process.argv;
const operator = operatorContext({
  home: homeOf({ checkout: '', env: process.env }),
  env: process.env,
});
const database = connectPostgres({
  url: operator.settings.DATABASE_URL,
  log: operator.log,
  name: 'killed-redrive',
});
const reader = new RangeReader({
  settings: operator.settings,
  clientId: 'killed-redrive',
  profile: 'interactive',
});
const { tools, close } = await openTools({ operator, database, reader });
const sent: Promise<number>[] = [];
const publish: typeof tools.publish = async (record) => {
  if (moment === 'before') process.kill(process.pid, 'SIGKILL');
  const at = tools.publish(record);
  if (moment === 'twice') return at.then(() => tools.publish(record));
  sent.push(at);
  // All dead letters of the group are in flight together: when both are acknowledged, and before
  // anything is marked, it ends.
  await at;
  if (sent.length === 2) {
    await Promise.all(sent);
    process.kill(process.pid, 'SIGKILL');
  }
  return new Promise<number>(() => undefined);
};
await redriveGroup({ ...tools, publish }, { group, limit: 10, dryRun: false });
await Promise.all([close(), reader.close(), database.end()]);
