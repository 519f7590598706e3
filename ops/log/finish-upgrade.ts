import { parseLine } from '../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { recordAudit } from '../../platform/audit.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { groupMembers } from '../../platform/kafka/group-members.ts';
import {
  advanceWritten,
  NEWEST_WRITTEN,
  readWritten,
  WRITTEN_POLL_MS,
  type WrittenSubject,
} from '../../platform/log/written-schemas.ts';
import {
  COMMAND_CONNECT_MS,
  connectPostgres,
  type Database,
} from '../../platform/postgres/pool.ts';
import { columnsOf } from '../../projections/events/insert-batch.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { CONSUMER_GROUPS, GROUP, TOPIC } from '../../schemas/topology.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { obstacles, readersBehind, type Members, type Readers } from './obstacles.ts';

/** Dead letters of the sink hold rows, too. */
const WITH_ROWS: readonly string[] = [TOPIC.normalised, TOPIC.dead];

interface Finished {
  from: number;
  to: number;
  advanced: boolean;
  waits_for: string[];
}

/**
 * `./ravand log finish-upgrade`: from now on the normaliser writes rows of the newest version, and
 * gateways outcomes and raw batches; claims are packed. Refuses while a reader of an older release
 * is a member of a group, and until every table has the columns. It cannot be undone: a release
 * before this one does not read them.
 */
export async function runFinishUpgrade(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: { 'dry-run': { type: 'boolean' }, json: { type: 'boolean' } },
  });
  const operator = operatorContext(context);
  const { settings, log } = operator;
  const name = 'ravand-finish-upgrade';
  const database = connectPostgres({
    ...{ url: settings.DATABASE_URL, log, name, max: 1, connectTimeout: COMMAND_CONNECT_MS },
  });
  try {
    const isDryRun = values['dry-run'] === true;
    const {
      'event-row': rows,
      'ingest-outcome': outcomes,
      claims,
      'raw-batch': raw,
    } = await finishUpgrade(database, {
      isDryRun,
      waitsFor: {
        'event-row': async () => obstacles(await readersOf(operator)),
        'ingest-outcome': async () =>
          readersBehind(await membersOf(operator, [TOPIC.outcomes]), 'ingest-outcome'),
        claims: async () => readersBehind(await normalisersOf(operator), 'claims'),
        'raw-batch': async () => readersBehind(await membersOf(operator, [TOPIC.raw]), 'raw-batch'),
      },
    });
    const waitsFor = [
      ...new Set([rows, outcomes, claims, raw].flatMap(({ waits_for }) => waits_for)),
    ];
    if (values.json === true) print(JSON.stringify({ ...rows, outcomes, claims, raw }));
    else if (waitsFor.length > 0)
      throw new CommandError(`the upgrade cannot be finished yet:\n  ${waitsFor.join('\n  ')}`);
    else {
      print(sentence('rows', rows));
      if (outcomes.from < outcomes.to) print(sentence('outcomes', outcomes));
      if (claims.from < claims.to) print(sentence('claims', claims));
      if (raw.from < raw.to) print(sentence('raw records', raw));
    }
    return waitsFor.length > 0 ? 1 : 0;
  } finally {
    await database.end();
  }
}

/**
 * Advances every subject, or none while any of them waits for something: the release as a whole is
 * new from then on.
 * @param options what must happen first, one sentence each; asked only where there is work to do
 */
export async function finishUpgrade(
  database: Pick<Database, 'query'>,
  options: { isDryRun: boolean; waitsFor: Record<WrittenSubject, () => Promise<string[]>> },
): Promise<Record<WrittenSubject, Finished>> {
  const look = async (subject: WrittenSubject): Promise<Finished> => {
    const to = NEWEST_WRITTEN[subject];
    const from = await readWritten(database, subject);
    const waits_for = from >= to ? [] : await options.waitsFor[subject]();
    return { from, to, advanced: false, waits_for };
  };
  const found = {
    'event-row': await look('event-row'),
    'ingest-outcome': await look('ingest-outcome'),
    claims: await look('claims'),
    'raw-batch': await look('raw-batch'),
  };
  const all = Object.values(found);
  if (options.isDryRun || all.some(({ waits_for }) => waits_for.length > 0)) return found;
  for (const subject of ['event-row', 'ingest-outcome', 'claims', 'raw-batch'] as const) {
    const { from, to } = found[subject];
    if (from >= to) continue;
    await recordAudit(database, {
      ...{ accountId: null, actor: 'operator', action: 'upgrade.finished' },
      details: { subject, from, to },
    });
    await advanceWritten(database, subject);
    found[subject].advanced = true;
  }
  return found;
}

function sentence(what: string, { from, to, advanced }: Finished): string {
  if (from >= to) return `nothing to do: ${what} of version ${to} are written already`;
  if (!advanced)
    return `would write ${what} of version ${to} instead of ${from}: every reader knows it`;
  const seconds = WRITTEN_POLL_MS / 1000;
  return `${what} of version ${to} are written instead of ${from}, within ${seconds} seconds; earlier releases cannot be started any more`;
}

async function membersOf(operator: OperatorContext, topics: readonly string[]): Promise<Members> {
  const groups = CONSUMER_GROUPS.filter(({ topic }) => topics.includes(topic)).map(
    ({ group }) => group,
  );
  const members = await withKafkaAdmin(operator.settings, async (admin) =>
    [...(await groupMembers(admin, operator.settings, groups))].flatMap(([group, members]) =>
      members.map(({ clientId, clientHost: host }) => ({ group, host, clientId })),
    ),
  );
  return { members, groups };
}

/** Gateways read claims as well, and are in no group: the operator upgrades them before. */
async function normalisersOf(operator: OperatorContext): Promise<Members> {
  const { members } = await membersOf(operator, [TOPIC.raw]);
  const groups = [GROUP.normaliser];
  return { members: members.filter(({ group }) => group === GROUP.normaliser), groups };
}

async function readersOf(operator: OperatorContext): Promise<Readers> {
  const [readers, tables] = await Promise.all([membersOf(operator, WITH_ROWS), tablesOf(operator)]);
  return { ...readers, tables, columns: columnsOf(NEWEST_ROW_VERSION) };
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
