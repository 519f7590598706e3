import { parseLine } from '../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import {
  COMMAND_CONNECT_MS,
  connectPostgres,
  type Database,
} from '../../platform/postgres/pool.ts';
import { idOption, requireAccount } from '../admin/command.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { decide, type Decided } from './change-person.ts';
import { readApps, readMergeEvents, readPerson, readProfiles } from './read-person.ts';
import { decisionJson, movedLines, personJson, personLines, type FoundPerson } from './render.ts';

interface PersonContext {
  operator: OperatorContext;
  database: Database;
  accountId: number;
  json: boolean;
}

/**
 * `./ravand person ID`: the distinct ids of a person, which events merged them, and a summary of
 * the profile. `person split` keeps two ids apart for good, `person rejoin` reverses it.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values, words } = parseLine({
    args,
    words: { min: 1, max: 2 },
    options: {
      account: { type: 'string', required: true },
      from: { type: 'string' },
      reason: { type: 'string' },
      'dry-run': { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const accountId = idOption(values, 'account');
  const operator = operatorContext(context);
  const { settings, log } = operator;
  const name = 'ravand-person';
  const database = connectPostgres({
    ...{ url: settings.DATABASE_URL, log, name, max: 2, connectTimeout: COMMAND_CONNECT_MS },
  });
  const person: PersonContext = { operator, database, accountId, json: values.json === true };
  const reason = (values.reason ?? '').trim();
  if (reason.length > 500) throw new UsageError('--reason is longer than 500 characters');
  try {
    await requireAccount(database, accountId);
    const [first = '', second] = words;
    if (second === undefined) {
      if (values.from !== undefined || values['dry-run'] === true)
        throw new UsageError('--from and --dry-run belong to person split and person rejoin');
      return await show(person, first);
    }
    const isDry = values['dry-run'] === true;
    const change = { distinctId: second, other: values.from, reason, isDry };
    switch (first) {
      case 'split':
        return await decideAbout(person, { ...change, kind: 'keep_apart' });
      case 'rejoin':
        return await decideAbout(person, { ...change, kind: 'rejoin' });
      default:
        throw new UsageError(`person has no ${JSON.stringify(first)}`);
    }
  } finally {
    await database.end();
  }
}

async function show(context: PersonContext, distinctId: string): Promise<number> {
  const { database, accountId, json } = context;
  const person = await readPerson(database, accountId, distinctId);
  const apps = await readApps(database, accountId);
  const found = { accountId, person, apps, ...(await readStored(context, person)) };
  const isKnown = person.ids.some(({ merge }) => merge) || person.ids.length > 1;
  if (!isKnown && found.profiles.size === 0 && found.unavailable === undefined)
    throw new CommandError(
      `account ${accountId} has no event and no alias of ${JSON.stringify(distinctId)}`,
    );
  if (json) print(JSON.stringify(personJson(found)));
  else for (const line of personLines(found)) print(line);
  return 0;
}

type Stored = Pick<FoundPerson, 'events' | 'profiles' | 'unavailable'>;

/** What ClickHouse knows; without it the person and its merges are shown all the same. */
async function readStored(
  { operator: { settings }, accountId }: PersonContext,
  { ids }: FoundPerson['person'],
): Promise<Stored> {
  const client = connectClickhouse({ settings, name: 'ravand-person', requestTimeout: 12_000 });
  try {
    const merges = ids.flatMap(({ merge }) => merge ?? []);
    const names = ids.map(({ distinctId }) => distinctId);
    return {
      events: await readMergeEvents(client, accountId, merges),
      profiles: await readProfiles(client, accountId, names),
      unavailable: undefined,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const unavailable = `events and profiles are unknown: ClickHouse does not answer (${why})`;
    return { events: new Map(), profiles: new Map(), unavailable };
  } finally {
    await client.close();
  }
}

async function decideAbout(
  { operator, database, accountId, json }: PersonContext,
  request: {
    kind: 'keep_apart' | 'rejoin';
    distinctId: string;
    other: string | undefined;
    reason: string;
    isDry: boolean;
  },
): Promise<number> {
  const { kind, distinctId, reason, isDry } = request;
  const userId =
    request.other ??
    (kind === 'keep_apart' ? await mergedInto(database, accountId, distinctId) : undefined);
  if (userId === undefined)
    throw new UsageError('--from is missing: give the other one of the two distinct ids');
  if (userId === distinctId) throw new UsageError('--from: give two different distinct ids');
  const decided = await decide({
    ...{ database, kafka: operator.settings, accountId, kind, previousId: distinctId, userId },
    ...{ reason, isDry, now: Date.now() },
  });
  if (json) print(JSON.stringify(decidedJson(accountId, decided)));
  else for (const line of decidedLines(accountId, decided)) print(line);
  return 0;
}

/** The id that an alias merged a distinct id into. */
async function mergedInto(
  database: Database,
  accountId: number,
  distinctId: string,
): Promise<string> {
  const { ids } = await readPerson(database, accountId, distinctId);
  const merge = ids.find((id) => id.distinctId === distinctId)?.merge;
  if (!merge)
    throw new CommandError(
      `no alias merged ${JSON.stringify(distinctId)} into another id: name the other one with --from`,
    );
  return merge.userId;
}

function decidedLines(accountId: number, decided: Decided): string[] {
  const { decision, moved, isOnePerson, offset, isApplied } = decided;
  const { kind, previousId, userId } = decision;
  const isSplit = kind === 'keep_apart';
  const what = isSplit
    ? `${previousId} and ${userId} apart: aliases between them merge nothing, also later ones`
    : `the aliases between ${previousId} and ${userId} count again`;
  const head =
    offset === undefined
      ? `would ${isSplit ? 'keep' : 'make'} ${what}`
      : `${isSplit ? 'keeps' : 'makes'} ${what} (identity.commands ${offset}${isApplied ? '' : ', which identities-sink has not applied yet'})`;
  return [
    head,
    ...movedLines(moved),
    ...(isSplit && isOnePerson
      ? [
          `they stay one person, by other aliases: ./ravand person ${previousId} --account ${accountId} shows which`,
        ]
      : []),
    ...(offset === undefined
      ? []
      : [
          `reverse it: ./ravand person ${isSplit ? 'rejoin' : 'split'} ${previousId} --from ${userId} --account ${accountId}`,
        ]),
  ];
}

/** The --json form; its field names are a contract with scripts. */
function decidedJson(accountId: number, decided: Decided): object {
  const { decision, moved, isOnePerson, offset, isApplied } = decided;
  return {
    account_id: accountId,
    decision: decisionJson(decision),
    dry_run: offset === undefined,
    offset: offset ?? null,
    applied: isApplied,
    one_person: isOnePerson,
    moved: moved.map(({ distinctId, from, to }) => ({ distinct_id: distinctId, from, to })),
  };
}
