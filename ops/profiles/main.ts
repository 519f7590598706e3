import { parseLine } from '../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { countText } from '../../cli/format.ts';
import { print, table } from '../../cli/terminal.ts';
import {
  checkAccount,
  sharesOf,
  type CheckContext,
} from '../../projections/profiles/check/check-account.ts';
import type { Comparison } from '../../projections/profiles/check/compare.ts';
import { withStopSignal } from '../graceful-stop.ts';
import { withConnections, type Connections } from '../jobs/connections.ts';
import { requireAgreedLog } from '../log/agreed-log.ts';
import { TOPIC } from '../../schemas/topology.ts';

interface CheckReport {
  account: number;
  compared: number;
  moved_on: number;
  differing: number;
  differences: Comparison['differences'];
}

/** Names that are printed for one account. */
const SHOWN = 10;

/**
 * `./ravand profiles check`: compares profiles with their events. Exits with 1 when some differ, or
 * when a release before this one left profiles to be folded again.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values, words } = parseLine({
    args,
    words: { min: 1, max: 1 },
    options: { account: { type: 'string' }, all: { type: 'boolean' }, json: { type: 'boolean' } },
  });
  if (words[0] !== 'check') throw new UsageError('profiles has check');
  const { account } = values;
  if (account !== undefined && !/^[1-9]\d*$/.test(account))
    throw new CommandError(`--account ${account}: expected the id of an account`, 2);
  return withStopSignal((stop) =>
    withConnections({ context, stop }, async (connections) => {
      await requireAgreedLog(connections, [TOPIC.raw, TOPIC.normalised]);
      const wanted = account === undefined ? undefined : Number(account);
      const reports: CheckReport[] = [];
      for (const id of await accountIds(connections, wanted))
        reports.push(await check(connections, { id, all: values.all === true, stop }));
      const unfolded = await leftByEarlierRelease(connections);
      if (values.json === true) print(JSON.stringify({ accounts: reports, unfolded }));
      else for (const line of lines(reports, unfolded)) print(line);
      return reports.some(({ differing }) => differing > 0) || unfolded > 0 ? 1 : 0;
    }),
  );
}

async function accountIds(
  { database }: Connections,
  wanted: number | undefined,
): Promise<number[]> {
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM accounts WHERE $1::bigint IS NULL OR id = $1 ORDER BY id',
    [wanted ?? null],
  );
  if (rows.length === 0 && wanted !== undefined)
    throw new CommandError(`there is no account ${wanted}`);
  return rows.map(({ id }) => Number(id));
}

async function check(
  { clickhouse: client, database, settings }: Connections,
  { id, all, stop }: { id: number; all: boolean; stop: AbortSignal },
): Promise<CheckReport> {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const context: CheckContext = { client, cluster, database, settings, signal: stop };
  const shares = await sharesOf(context, id);
  const first = Math.floor(Math.random() * shares);
  const report: CheckReport = {
    account: id,
    compared: 0,
    moved_on: 0,
    differing: 0,
    differences: [],
  };
  const names = new Map<string, Comparison['differences'][number]>();
  for (let at = 0; at < (all ? shares : 1); at++) {
    const selection = { share: (first + at) % shares, shares };
    const found = await checkAccount(context, { accountId: id, selection });
    report.compared += found.compared;
    report.moved_on += found.movedOn;
    report.differing = Math.max(report.differing, found.differing);
    for (const one of found.differences) names.set(one.name, one);
  }
  report.differences = [...names.values()];
  report.differing = Math.max(report.differing, names.size);
  return report;
}

/** Profiles that a replay of an earlier release wanted to fold again. */
async function leftByEarlierRelease({ database }: Connections): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `SELECT ((SELECT count(*) FROM profile_refolds WHERE applied_at IS NULL) + (SELECT count(*) FROM replay_names))::int AS n`,
  );
  return rows[0]?.n ?? 0;
}

function lines(reports: readonly CheckReport[], unfolded: number): string[] {
  const cells = reports.map(({ account, compared, moved_on, differing }) => [
    String(account),
    ...[compared, moved_on, differing].map(countText),
  ]);
  const examples = reports.flatMap(({ account, differences }) =>
    differences
      .slice(0, SHOWN)
      .map(
        ({ name, folded, stored, kind }) =>
          `account ${account}, ${JSON.stringify(name)}: ${countText(folded)} events in the profile, ${countText(stored)} stored: ${kind === 'profile_lacks' ? 'the profile lacks events' : 'rows are missing in events'}`,
      ),
  );
  const kinds = new Set(reports.flatMap(({ differences }) => differences.map(({ kind }) => kind)));
  return [
    ...table(['account', 'compared', 'moved on', 'differing'], cells),
    ...(examples.length > 0 ? ['', ...examples] : []),
    ...(kinds.has('profile_lacks') ? ['', 'repair: ./ravand rebuild profiles --swap'] : []),
    ...(kinds.has('events_lack')
      ? [
          '',
          'rows: ./ravand dlq shows refused ones, ./ravand replay --topic events.raw adds others',
        ]
      : []),
    ...(unfolded > 0
      ? [
          '',
          `${countText(unfolded)} profiles lack events that a replay of an earlier release revived: ./ravand rebuild profiles --swap`,
        ]
      : []),
  ];
}
