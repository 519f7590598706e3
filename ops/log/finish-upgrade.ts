import { parseLine } from '../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { recordAudit } from '../../platform/audit.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { groupMembers } from '../../platform/kafka/group-members.ts';
import {
  advanceWrittenRows,
  readWrittenRows,
  WRITTEN_POLL_MS,
} from '../../platform/log/written-schemas.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { columnsOf } from '../../projections/events/insert-batch.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { CONSUMER_GROUPS, TOPIC } from '../../schemas/topology.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { obstacles, type Readers } from './obstacles.ts';

/** Dead letters of the sink hold rows, too. */
const WITH_ROWS: readonly string[] = [TOPIC.normalised, TOPIC.dead];

/**
 * `./ravand log finish-upgrade`: from now on the normaliser writes rows of the newest version.
 * Refuses while a reader of an older release is a member of a group, and until every table has the
 * columns. It cannot be undone: a release before this one does not read these rows.
 */
export async function runFinishUpgrade(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
  });
  const operator = operatorContext(context);
  const { settings, log } = operator;
  const name = 'ravand-finish-upgrade';
  const database = connectPostgres({ url: settings.DATABASE_URL, log, name, max: 1 });
  try {
    const to = NEWEST_ROW_VERSION;
    const from = await readWrittenRows(database);
    const waitsFor = from >= to ? [] : obstacles(await readersOf(operator), to);
    const isAdvanced = from < to && waitsFor.length === 0 && values['dry-run'] !== true;
    if (isAdvanced) {
      const details = { subject: 'event-row', from, to };
      await recordAudit(database, {
        ...{ accountId: null, actor: 'operator', action: 'upgrade.finished', details },
      });
      await advanceWrittenRows(database, to);
    }
    if (values.json === true)
      print(JSON.stringify({ from, to, advanced: isAdvanced, waits_for: waitsFor }));
    else if (waitsFor.length > 0)
      throw new CommandError(`the upgrade cannot be finished yet:\n  ${waitsFor.join('\n  ')}`);
    else print(sentence({ from, to, isAdvanced }));
    return waitsFor.length > 0 ? 1 : 0;
  } finally {
    await database.end();
  }
}

function sentence({
  from,
  to,
  isAdvanced,
}: {
  from: number;
  to: number;
  isAdvanced: boolean;
}): string {
  if (from >= to) return `nothing to do: rows of version ${from} are written already`;
  if (!isAdvanced)
    return `would write rows of version ${to} instead of ${from}: every reader knows it`;
  const seconds = WRITTEN_POLL_MS / 1000;
  return `rows of version ${to} are written instead of ${from}, within ${seconds} seconds; earlier releases cannot be started any more`;
}

async function readersOf(operator: OperatorContext): Promise<Readers> {
  const groups = CONSUMER_GROUPS.filter(({ topic }) => WITH_ROWS.includes(topic)).map(
    ({ group }) => group,
  );
  const [members, tables] = await Promise.all([
    withKafkaAdmin(operator.settings, async (admin) =>
      [...(await groupMembers(admin, operator.settings, groups))].flatMap(([group, members]) =>
        members.map(({ clientId, clientHost: host }) => ({ group, host, clientId })),
      ),
    ),
    tablesOf(operator),
  ]);
  return { members, groups, tables, columns: columnsOf(NEWEST_ROW_VERSION) };
}

/** `events`, and what a rebuild or a replay fills beside it. */
async function tablesOf({ settings }: OperatorContext): Promise<Readers['tables']> {
  const client = connectClickhouse({ settings, name: 'ravand-finish-upgrade' });
  try {
    const answer = await client.query({
      // An alias `name` would replace the column inside groupArray.
      query: `SELECT table, groupArray(name) AS columns FROM system.columns
        WHERE database = currentDatabase() GROUP BY table HAVING has(columns, '_acceptance') ORDER BY table`,
      format: 'JSONEachRow',
    });
    const found = await answer.json<{ table: string; columns: string[] }>();
    return found.map(({ table, columns }) => ({ name: table, columns }));
  } finally {
    await client.close();
  }
}
