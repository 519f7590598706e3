import { parseLine } from '../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { countText, timeText } from '../../cli/format.ts';
import { print, table } from '../../cli/terminal.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { idOption } from '../admin/command.ts';
import { operatorContext } from '../operator-context.ts';
import { sinceOption } from '../since.ts';
import { readBalances, type SdkBalances } from './read-balances.ts';
import { readQuality, type QualityGroup } from './read-quality.ts';

const DAY = 86_400_000;
const MAX_GROUPS = 100;

/**
 * `./ravand quality`: rejects and warnings of the gateways by SDK and version, across accounts: who
 * sends what cannot be used. Days are days in Tehran; the last two unless --since says otherwise.
 * With --balances, what SDKs report of themselves: which version loses events.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: {
      since: { type: 'string' },
      account: { type: 'string' },
      balances: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const since = sinceOption(values.since, { now: Date.now(), age: DAY });
  const accountId = values.account === undefined ? undefined : idOption(values, 'account');
  const { settings } = operatorContext(context);
  const client = connectClickhouse({ settings, name: 'ravand-quality', requestTimeout: 35_000 });
  try {
    const asked = { since, accountId, limit: MAX_GROUPS };
    const show = (lines: readonly string[], json: object) => {
      for (const line of values.json === true ? [JSON.stringify(json)] : lines) print(line);
    };
    if (values.balances === true) {
      const balances = await readBalances(client, asked);
      show(balanceLines(balances, since), { since: new Date(since).toISOString(), balances });
    } else {
      const groups = await readQuality(client, asked);
      show(linesOf(groups, since), jsonOf(groups, since));
    }
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

function balanceLines(balances: readonly SdkBalances[], since: number): string[] {
  if (balances.length === 0) return [`no SDK has reported a balance since ${timeText(since)}`];
  const rows = balances.map((one) => [
    ...[`${one.library}/${one.version}`, countText(one.clients), countText(one.accounts)],
    ...[countText(one.made), countText(one.sent), droppedText(one.dropped)],
    countText(one.unresolved),
  ]);
  return table(['sdk', 'clients', 'accounts', 'made', 'sent', 'dropped', 'unresolved'], rows);
}

function droppedText(dropped: SdkBalances['dropped']): string {
  const causes = Object.entries(dropped).sort(([, a], [, b]) => b - a);
  return causes.map(([cause, count]) => `${cause} ${countText(count)}`).join(', ') || '-';
}

function largestText(largest: QualityGroup['largest']): string {
  return largest.map(({ account_id, events }) => `${account_id} (${countText(events)})`).join(', ');
}

/** The --json form; its field names are a contract with scripts. */
function jsonOf(groups: readonly QualityGroup[], since: number): object {
  return { since: new Date(since).toISOString(), groups };
}
