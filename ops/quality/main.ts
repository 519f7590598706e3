import { parseLine } from '../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { countText, timeText } from '../../cli/format.ts';
import { print, table } from '../../cli/terminal.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { idOption } from '../admin/command.ts';
import { operatorContext } from '../operator-context.ts';
import { sinceOption } from '../since.ts';
import { readQuality, type QualityGroup } from './read-quality.ts';

const DAY = 86_400_000;
const MAX_GROUPS = 100;

/**
 * `./ravand quality`: rejects and warnings of the gateways by SDK and version, across accounts: who
 * sends what cannot be used. Days are days in Tehran; the last two unless --since says otherwise.
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
  const { settings } = operatorContext(context);
  const client = connectClickhouse({ settings, name: 'ravand-quality', requestTimeout: 35_000 });
  try {
    const groups = await readQuality(client, { since, accountId, limit: MAX_GROUPS });
    if (values.json === true) print(JSON.stringify(jsonOf(groups, since)));
    else for (const line of linesOf(groups, since)) print(line);
    return 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`ClickHouse does not answer (${why}): ./ravand status`);
  } finally {
    await client.close();
  }
}

function linesOf(groups: readonly QualityGroup[], since: number): string[] {
  if (groups.length === 0) return [`no reject and no warning since the day of ${timeText(since)}`];
  const rows = groups.map(({ sdk, kind, code, field, events, accounts, largest, last_day }) => [
    ...[sdk === '' ? 'unknown' : sdk, kind, code, field === '' ? '-' : field, countText(events)],
    ...[countText(accounts), largestText(largest), last_day],
  ]);
  return table(
    ['sdk', 'kind', 'code', 'field', 'events', 'accounts', 'most of them from account', 'last day'],
    rows,
  );
}

function largestText(largest: QualityGroup['largest']): string {
  return largest.map(({ account_id, events }) => `${account_id} (${countText(events)})`).join(', ');
}

/** The --json form; its field names are a contract with scripts. */
function jsonOf(groups: readonly QualityGroup[], since: number): object {
  return { since: new Date(since).toISOString(), groups };
}
