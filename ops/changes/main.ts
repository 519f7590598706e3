import { parseLine } from '../../cli/arguments.ts';
import { timeText } from '../../cli/format.ts';
import type { CommandContext } from '../../cli/command.ts';
import { print, table } from '../../cli/terminal.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { idOption } from '../admin/command.ts';
import { operatorContext } from '../operator-context.ts';
import { sinceOption } from '../since.ts';
import { detailsText, readChanges, type Change } from '../../platform/changes/read-changes.ts';

const DAY = 86_400_000;
const MAX_LINES = 1000;

/**
 * `./ravand changes`: what people, operators and services decided, from the audit lines and the
 * migrations: who, when, about which account. The last 24 hours unless --since says otherwise.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: {
      since: { type: 'string' },
      account: { type: 'string' },
      json: { type: 'boolean' },
    },
  });
  const since = sinceOption(values.since, { now: Date.now(), age: DAY });
  const accountId = values.account === undefined ? undefined : idOption(values, 'account');
  const { settings, log } = operatorContext(context);
  const database = connectPostgres({
    ...{ url: settings.DATABASE_URL, log, name: 'ravand-changes', max: 1 },
  });
  try {
    const found = await readChanges(database, { since, accountId, limit: MAX_LINES + 1 });
    const isCut = found.length > MAX_LINES;
    const changes = isCut ? found.slice(-MAX_LINES) : found;
    if (values.json === true) print(JSON.stringify(jsonOf(changes, { since, isCut })));
    else for (const line of linesOf(changes, { since, isCut })) print(line);
    return 0;
  } finally {
    await database.end();
  }
}

interface Range {
  since: number;
  isCut: boolean;
}

function linesOf(changes: readonly Change[], { since, isCut }: Range): string[] {
  if (changes.length === 0) return [`nothing was changed since ${timeText(since)}`];
  const rows = changes.map(({ at, accountId, actor, action, details }) => [
    ...[timeText(at), accountId === null ? '-' : String(accountId)],
    ...[actor, action, detailsText(details)],
  ]);
  return [
    ...(isCut
      ? [`the last ${MAX_LINES} changes; earlier ones: --account, or another --since`]
      : []),
    ...table(['at', 'account', 'who', 'what', 'details'], rows),
  ];
}

/** The --json form; its field names are a contract with scripts. */
function jsonOf(changes: readonly Change[], { since, isCut }: Range): object {
  return {
    since: new Date(since).toISOString(),
    more: isCut,
    changes: changes.map(({ at, accountId, ...change }) => ({
      at: new Date(at).toISOString(),
      account_id: accountId,
      ...change,
    })),
  };
}
