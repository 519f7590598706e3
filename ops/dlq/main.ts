import { COMMAND_CONNECT_MS, connectPostgres } from '../../platform/postgres/pool.ts';
import { parseLine } from '../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { operatorContext } from '../operator-context.ts';
import { idOption } from '../admin/command.ts';
import { groupsOf, type DeadLetterGroup } from './groups.ts';
import { discard, restore } from './discard-command.ts';
import { requireGroup, type DlqContext } from './dlq-context.ts';
import { redrive } from './redrive-command.ts';
import { indexDeadLetters } from './dead-letter-index.ts';
import { DeadLetterStore, type DeadLetterRow } from './dead-letter-store.ts';
import { readDeadLetter } from './read-dead-letter.ts';
import { groupDetailLines, groupLines, deadLetterLines } from './render.ts';

const SHOWN_DEAD_LETTERS = 20;
const MAX_LIMIT = 100_000;

/** `./ravand dlq`: lists, shows, redrives, discards and restores dead letters, by cause. */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values, words } = parseLine({
    args,
    words: { min: 0, max: 2 },
    options: {
      json: { type: 'boolean' },
      account: { type: 'string' },
      limit: { type: 'string' },
      'dry-run': { type: 'boolean' },
      reason: { type: 'string' },
    },
  });
  const [verb = 'list', name] = words;
  const named = () => {
    if (name === undefined)
      throw new UsageError(`dlq ${verb}: which group? ./ravand dlq lists them`);
    return name;
  };
  const accountId = values.account === undefined ? undefined : idOption(values, 'account');
  const operator = operatorContext(context);
  const database = connectPostgres({
    url: operator.settings.DATABASE_URL,
    log: operator.log,
    ...{ name: 'ravand-dlq', max: 2, connectTimeout: COMMAND_CONNECT_MS },
  });
  const reader = new RangeReader({
    settings: operator.settings,
    clientId: 'ravand-dlq',
    profile: 'interactive',
  });
  const dlq: DlqContext = {
    operator,
    database,
    reader,
    store: new DeadLetterStore(database, accountId),
    accountId,
    json: values.json === true,
  };
  try {
    await index(dlq);
    switch (verb) {
      case 'list':
        return await list(dlq);
      case 'show':
        return await show(dlq, named());
      case 'redrive':
        return await redrive(dlq, {
          group: named(),
          limit: limitOf(values.limit),
          dryRun: values['dry-run'] === true,
        });
      case 'discard':
        return await discard(dlq, {
          group: named(),
          reason: (values.reason ?? '').trim(),
          isDry: values['dry-run'] === true,
        });
      case 'restore':
        return await restore(dlq, { group: named(), isDry: values['dry-run'] === true });
      default:
        throw new UsageError(`dlq has no ${JSON.stringify(verb)}`);
    }
  } finally {
    await Promise.allSettled([reader.close(), database.end()]);
  }
}

async function index(dlq: DlqContext): Promise<void> {
  try {
    const complete = await indexDeadLetters(dlq);
    if (!complete && !dlq.json)
      print(
        'events.dead holds more dead letters than one command reads: the next command continues',
      );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `the dead letters cannot be read: ${why}. They are in Kafka (events.dead) and their states in PostgreSQL: check both with ./ravand status`,
    );
  }
}

async function list({ store, json }: DlqContext): Promise<number> {
  const groups = groupsOf(await store.counts());
  if (json) print(JSON.stringify({ groups: groups.map(groupJson) }));
  else for (const line of groupLines(groups)) print(line);
  return 0;
}

async function show(dlq: DlqContext, name: string): Promise<number> {
  const { store, reader, json } = dlq;
  const known = await store.find(name.includes('events.') ? name : `events.raw/${name}`);
  if (known) {
    const deadLetter = await readDeadLetter(reader, known);
    if (json)
      print(
        JSON.stringify({
          letter: {
            ...rowJson(known),
            detail: deadLetter?.detail ?? null,
            value_base64: deadLetter?.value.toString('base64') ?? null,
          },
        }),
      );
    else for (const line of deadLetterLines(known, deadLetter)) print(line);
    return 0;
  }
  const group = await requireGroup(dlq, name);
  const newest = await store.newestOfGroup(group.group, SHOWN_DEAD_LETTERS);
  const sample = newest[0] && (await readDeadLetter(reader, newest[0]));
  if (json)
    print(
      JSON.stringify({
        group: { ...groupJson(group), detail: sample?.detail ?? null },
        letters: newest.map(rowJson),
      }),
    );
  else for (const line of groupDetailLines(group, { newest, sample })) print(line);
  return 0;
}

/** The --json forms: the key of a dead letter is `letter`, their number `letters`. */
function groupJson(group: DeadLetterGroup): Record<string, unknown> {
  const { stage, reason, states, sample, deadLetters: letters, events, first, last } = group;
  return {
    ...{ group: group.group, stage, reason, states, sample, letters, events },
    first: new Date(first).toISOString(),
    last: new Date(last).toISOString(),
  };
}

function rowJson({ key: letter, ...row }: DeadLetterRow): Record<string, unknown> {
  return { letter, ...row };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return MAX_LIMIT;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > MAX_LIMIT)
    throw new CommandError(`--limit ${text}: expected a whole number from 1 to ${MAX_LIMIT}`, 2);
  return value;
}
