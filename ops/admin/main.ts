import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { kafkaSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { accountCreate, accountSet } from './accounts.ts';
import { aliasUndo } from './alias.ts';
import { announcements } from './announcements.ts';
import { AdminRefusal, type AdminCommand } from './command.ts';
import { exportFetch } from './export-fetch.ts';
import {
  managementKeyCreate,
  managementKeyRevoke,
  writeKeyCreate,
  writeKeyRevoke,
} from './keys.ts';
import { linkCreate } from './link.ts';
import { parseAdminLine } from './line.ts';
import { memberCreate, memberRemove, memberSetPassword, memberSetRole } from './member.ts';
import { metersRecount } from './meters/recount.ts';
import { sealRotate } from './seal-rotate.ts';
import { stackEnvironment, type RunningStack } from './stack-environment.ts';
import { webhookTry } from './webhook-try.ts';

export const ADMIN_COMMANDS: readonly AdminCommand[] = [
  accountCreate,
  accountSet,
  writeKeyCreate,
  writeKeyRevoke,
  managementKeyCreate,
  managementKeyRevoke,
  aliasUndo,
  announcements,
  metersRecount,
  exportFetch,
  linkCreate,
  memberCreate,
  memberSetRole,
  memberSetPassword,
  memberRemove,
  sealRotate,
  webhookTry,
];

interface AdminContext {
  /** RAVAND_HOME, absolute. */
  home: string;
  ready: RunningStack | undefined;
  env: NodeJS.ProcessEnv;
}

/** `./ravand admin …`: prints one JSON object and answers 0, or a sentence and answers 1. */
export async function run(args: string[], context: AdminContext): Promise<number> {
  try {
    const { command, input } = parseAdminLine(ADMIN_COMMANDS, args);
    const env = stackEnvironment(context);
    const url = env['DATABASE_URL'];
    if (url === undefined && command.needsNoStack !== true)
      throw new AdminRefusal(
        'no stack is running here: start it with ./ravand up, or set DATABASE_URL',
      );
    const database = connectPostgres({
      url: url ?? '',
      log: createLog({ part: 'admin', level: 'error' }),
      name: 'ravand-admin',
      max: 1,
    });
    try {
      const kafka = parseSettings(kafkaSettings, env);
      process.stdout.write(
        `${JSON.stringify(await command.run(input, database, { kafka, env }))}\n`,
      );
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
