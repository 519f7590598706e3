import { parseLine } from '../../cli/arguments.ts';
import { CommandError, findCommand, type CommandContext } from '../../cli/command.ts';
import { print, printError } from '../../cli/terminal.ts';
import { createLog } from '../../platform/log.ts';
import { COMMAND_CONNECT_MS, connectPostgres } from '../../platform/postgres/pool.ts';
import { kafkaSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { accountCreate, accountSet } from './accounts.ts';
import { addresses } from './addresses.ts';
import { aliasUndo } from './alias.ts';
import { announcements } from './announcements.ts';
import { appSecret } from './app-secret.ts';
import {
  campaignApprove,
  campaignCancel,
  campaignConfirm,
  campaignPause,
  campaignResume,
  campaignShow,
  campaignUpdate,
} from './campaign.ts';
import { channelDisable, channelEnable, channelList, channelSet } from './channel.ts';
import type { AdminCommand } from './command.ts';
import { consentShow } from './consent-show.ts';
import { exportFetch } from './export-fetch.ts';
import {
  managementKeyCreate,
  managementKeyRevoke,
  writeKeyCreate,
  writeKeyRevoke,
} from './keys.ts';
import { linkCreate } from './link.ts';
import {
  memberCreate,
  memberRemove,
  memberSetOperator,
  memberSetPassword,
  memberSetRole,
} from './member.ts';
import { messagesSettings } from './message-settings.ts';
import { messageShow } from './message-show.ts';
import { metersRecount } from './meters/recount.ts';
import { metersShow } from './meters/show.ts';
import { onsiteCreate, onsiteEnd } from './onsite.ts';
import { sealRotate } from './seal-rotate.ts';
import { stackEnvironment } from './stack-environment.ts';
import { templateCreate, templateShow, templateUpdate } from './template.ts';
import { trackingRotate, trackingTry } from './tracking.ts';
import { webhookTry } from './webhook-try.ts';

const ADMIN_COMMANDS: readonly AdminCommand[] = [
  accountCreate,
  accountSet,
  writeKeyCreate,
  writeKeyRevoke,
  managementKeyCreate,
  managementKeyRevoke,
  aliasUndo,
  addresses,
  consentShow,
  appSecret,
  onsiteCreate,
  onsiteEnd,
  channelSet,
  channelList,
  channelEnable,
  channelDisable,
  templateCreate,
  templateUpdate,
  templateShow,
  campaignUpdate,
  campaignApprove,
  campaignPause,
  campaignResume,
  campaignCancel,
  campaignConfirm,
  campaignShow,
  messagesSettings,
  messageShow,
  announcements,
  metersRecount,
  metersShow,
  exportFetch,
  linkCreate,
  memberCreate,
  memberSetRole,
  memberSetPassword,
  memberSetOperator,
  memberRemove,
  sealRotate,
  webhookTry,
  trackingTry,
  trackingRotate,
];

/** `./ravand admin …`: prints one JSON object and returns 0, or an error and returns 1. */
export async function run(args: string[], context: CommandContext): Promise<number> {
  try {
    const { command, rest } = requireCommand(args);
    const { options, words, usage } = command;
    const line = parseLine({
      args: rest,
      options,
      usage: `admin ${usage}`,
      ...(words ? { words } : {}),
    });
    const env = stackEnvironment(context);
    const url = env['DATABASE_URL'];
    if (url === undefined && command.needsStack !== false)
      throw new CommandError(
        'no stack is running here: start it with ./ravand up, or set DATABASE_URL',
      );
    const kafka = parseSettings(kafkaSettings, env);
    const database = connectPostgres({
      url: url ?? '',
      log: createLog({ part: 'admin', level: 'error' }),
      name: 'ravand-admin',
      max: 1,
      connectTimeout: COMMAND_CONNECT_MS,
    });
    try {
      print(JSON.stringify(await command.run(line, { database, kafka, env })));
    } finally {
      await database.end();
    }
    return 0;
  } catch (error) {
    printError(sentence(error));
    return 1;
  }
}

function requireCommand(args: string[]) {
  const found = findCommand(ADMIN_COMMANDS, args);
  if (found) return found;
  const known = ADMIN_COMMANDS.map(({ usage }) => `  ./ravand admin ${usage}`).join('\n');
  const problem =
    args.length === 0
      ? 'an admin command is missing'
      : `unknown admin command: ${args.slice(0, 2).join(' ')}`;
  throw new CommandError(`${problem}; there are\n${known}`);
}

function sentence(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  const { message, code } = error as Error & { code?: string };
  if (code === 'ECONNREFUSED') return 'PostgreSQL is not reachable: see ./ravand status';
  return `this failed: ${message}`;
}
