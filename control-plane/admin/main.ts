import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { kafkaSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { accountCreate, accountSet } from './accounts.ts';
import { aliasUndo } from './alias.ts';
import { AdminRefusal, type AdminCommand } from './command.ts';
import { managementKeyCreate, managementKeyRevoke, writeKeyCreate, writeKeyRevoke } from './keys.ts';
import { parseAdminLine } from './line.ts';

export const ADMIN_COMMANDS: readonly AdminCommand[] = [
  accountCreate,
  accountSet,
  writeKeyCreate,
  writeKeyRevoke,
  managementKeyCreate,
  managementKeyRevoke,
  aliasUndo,
];

interface AdminContext {
  ready: { database_url: string; kafka_brokers: string } | undefined;
  env: NodeJS.ProcessEnv;
}

/** `./ravand admin …`: prints one JSON object and answers 0, or a sentence and answers 1. */
export async function run(args: string[], context: AdminContext): Promise<number> {
  try {
    const { command, input } = parseAdminLine(ADMIN_COMMANDS, args);
    const url = context.ready?.database_url ?? context.env['DATABASE_URL'];
    if (url === undefined) throw new AdminRefusal('no stack is running here: start it with ./ravand up, or set DATABASE_URL');
    const database = connectPostgres({ url, log: createLog({ part: 'admin', level: 'error' }), name: 'ravand-admin', max: 1 });
    try {
      const brokers = context.ready?.kafka_brokers;
      const kafka = parseSettings(kafkaSettings, { ...context.env, ...(brokers === undefined ? {} : { KAFKA_BROKERS: brokers }) });
      process.stdout.write(`${JSON.stringify(await command.run(input, database, { kafka }))}\n`);
    } finally {
      await database.end();
    }
    return 0;
  } catch (error) {
    process.stderr.write(`${sentence(error)}\n`);
    return 1;
  }
}

function sentence(error: unknown): string {
  if (error instanceof AdminRefusal) return error.message;
  const { message, code } = error as Error & { code?: string };
  if (code === 'ECONNREFUSED') return 'PostgreSQL is not reachable: see ./ravand status';
  return `this did not work: ${message}`;
}
