import { recordAudit } from '../../platform/audit.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { parseLine } from '../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { countText } from '../../cli/format.ts';
import { openTools } from './redrive-tools.ts';
import { findGroup, groupsOf, type DeadLetterGroup } from './groups.ts';
import { indexDeadLetters } from './dead-letter-index.ts';
import { DeadLetterStore } from './dead-letter-store.ts';
import { readDeadLetter } from './read-dead-letter.ts';
import { redriveGroup, type RedriveReport } from './redrive.ts';
import { groupDetailLines, groupLines, deadLetterLines } from './render.ts';

export const DLQ_USAGE =
  'dlq [list | show GROUP|LETTER | redrive GROUP [--limit N] [--dry-run] | discard GROUP --reason TEXT] [--json]';

const SHOWN_DEAD_LETTERS = 20;
const MAX_LIMIT = 100_000;

interface DlqContext {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
  store: DeadLetterStore;
  json: boolean;
}

/** `./ravand dlq`: what could not be processed, by cause, and what is to become of it. */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values, words } = parseLine({
    args,
    usage: DLQ_USAGE,
    words: { min: 0, max: 2 },
    options: {
      json: { type: 'boolean' },
      limit: { type: 'string' },
      'dry-run': { type: 'boolean' },
      reason: { type: 'string' },
    },
  });
  const [verb = 'list', name] = words;
  const named = () => {
    if (name === undefined)
      throw new CommandError(
        `dlq ${verb}: which group? ./ravand dlq lists them\nusage: ./ravand ${DLQ_USAGE}`,
        2,
      );
    return name;
  };
  const operator = operatorContext(context);
  const database = connectPostgres({
    url: operator.settings.DATABASE_URL,
    log: operator.log,
    name: 'ravand-dlq',
    max: 2,
  });
  const reader = new RangeReader({
    settings: operator.settings,
    clientId: 'ravand-dlq',
    profile: 'interactive',
  });
  const desk = {
    operator,
    database,
    reader,
    store: new DeadLetterStore(database),
    json: values.json === true,
  };
  try {
    await index(desk);
    switch (verb) {
      case 'list':
        return await list(desk);
      case 'show':
        return await show(desk, named());
      case 'redrive':
        return await redrive(desk, {
          group: named(),
          limit: limitOf(values.limit),
          dryRun: values['dry-run'] === true,
        });
      case 'discard':
        return await discard(desk, { group: named(), reason: (values.reason ?? '').trim() });
      default:
        throw new CommandError(
          `dlq has no ${JSON.stringify(verb)}\nusage: ./ravand ${DLQ_USAGE}`,
          2,
        );
    }
  } finally {
    await Promise.allSettled([reader.close(), database.end()]);
  }
}

async function index(desk: DlqContext): Promise<void> {
  try {
    const complete = await indexDeadLetters(desk);
    if (!complete && !desk.json)
      print(
        'events.dead holds more letters than one command reads: this is a part of them, the next command goes on',
      );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `the dead letters cannot be read: ${why}. They stand in Kafka (events.dead), and what was decided about them in PostgreSQL: ./ravand status`,
    );
  }
}

async function list({ store, json }: DlqContext): Promise<number> {
  const groups = groupsOf(await store.counts());
  if (json) print(JSON.stringify({ groups: groups.map(jsonOf) }));
  else for (const line of groupLines(groups)) print(line);
  return 0;
}

async function show(desk: DlqContext, name: string): Promise<number> {
  const { store, reader, json } = desk;
  const known = await store.find(name.includes('events.') ? name : `events.raw/${name}`);
  if (known) {
    const letter = await readDeadLetter(reader, known);
    if (json)
      print(
        JSON.stringify({
          letter: {
            ...known,
            detail: letter?.detail ?? null,
            value_base64: letter?.value.toString('base64') ?? null,
          },
        }),
      );
    else for (const line of deadLetterLines(known, letter)) print(line);
    return 0;
  }
  const group = await requireGroup(desk, name);
  const letters = await store.newestOfGroup(group.group, SHOWN_DEAD_LETTERS);
  const [newest] = letters;
  const sample = newest && (await readDeadLetter(reader, newest));
  if (json)
    print(JSON.stringify({ group: { ...jsonOf(group), detail: sample?.detail ?? null }, letters }));
  else for (const line of groupDetailLines(group, { letters, sample })) print(line);
  return 0;
}

async function redrive(
  desk: DlqContext,
  options: { group: string; limit: number; dryRun: boolean },
): Promise<number> {
  const { database, json } = desk;
  const group = await requireGroup(desk, options.group);
  const about = { group: group.group, stage: group.stage, reason: group.reason };
  if (!options.dryRun)
    await audit(database, {
      action: 'dead_letters.redrive_started',
      details: { ...about, limit: options.limit, dead: group.states.dead },
    });
  const { tools, close } = await openTools(desk);
  try {
    const report = await redriveGroup(tools, { ...options, group: group.group });
    const told = {
      ...about,
      ...report.redriven,
      recovered: report.recovered,
      replayed: report.replayed,
      uncertain: report.uncertain,
      unready: sum(report.unready),
    };
    if (!options.dryRun) await audit(database, { action: 'dead_letters.redriven', details: told });
    if (json)
      print(
        JSON.stringify({
          ...told,
          dry_run: options.dryRun,
          why_unready: Object.fromEntries(report.unready),
        }),
      );
    else for (const line of reportLines(group, { report, dryRun: options.dryRun })) print(line);
    return report.uncertain > 0 ? 1 : 0;
  } finally {
    await close();
  }
}

async function discard(
  desk: DlqContext,
  options: { group: string; reason: string },
): Promise<number> {
  if (options.reason === '')
    throw new CommandError(
      'dlq discard needs --reason TEXT: it is kept with the letters and in the audit lines',
      2,
    );
  if (options.reason.length > 500)
    throw new CommandError('--reason is longer than 500 characters', 2);
  const group = await requireGroup(desk, options.group);
  const about = {
    group: group.group,
    stage: group.stage,
    reason: group.reason,
    note: options.reason,
  };
  await audit(desk.database, {
    action: 'dead_letters.discarded',
    details: { ...about, dead: group.states.dead },
  });
  const { letters, events } = await desk.store.discard(group.group, options.reason);
  if (desk.json) print(JSON.stringify({ ...about, letters, events }));
  else
    print(
      `discarded ${countText(letters)} letters with ${countText(events)} events of group ${group.group}: they stay in the books as dead, and in events.dead`,
    );
  return 0;
}

function reportLines(
  group: DeadLetterGroup,
  { report, dryRun }: { report: RedriveReport; dryRun: boolean },
): string[] {
  const { redriven, recovered, replayed, unready, uncertain } = report;
  const verb = dryRun ? 'would redrive' : 'redrove';
  return [
    `${verb} ${countText(redriven.letters)} letters with ${countText(redriven.events)} events of group ${group.group} (${group.reason})`,
    ...(recovered > 0
      ? [
          `${countText(recovered)} letters of a redrive that was killed stand in the log already: nothing was sent again`,
        ]
      : []),
    ...(replayed > 0
      ? [
          `a replay has stored the events of ${countText(replayed)} letters under their old places already: nothing was sent`,
        ]
      : []),
    ...[...unready].map(
      ([why, letters]) => `left ${countText(letters)} letters as they are: ${why}`,
    ),
    ...(uncertain > 0
      ? [
          `of ${countText(uncertain)} letters it is not known whether they went in: redrive the group again, it looks first`,
        ]
      : []),
  ];
}

async function requireGroup({ store }: DlqContext, name: string): Promise<DeadLetterGroup> {
  const found = findGroup(groupsOf(await store.counts()), name);
  switch (found.kind) {
    case 'one':
      return found.group;
    case 'none':
      throw new CommandError(
        `there is no group or letter ${JSON.stringify(name)}: ./ravand dlq lists the groups`,
      );
    case 'several':
      throw new CommandError(
        `${JSON.stringify(name)} is ${found.groups.map(({ group }) => group).join(' and ')}: name one of them`,
      );
  }
}

function audit(
  database: Database,
  line: { action: string; details: Record<string, unknown> },
): Promise<void> {
  return recordAudit(database, { accountId: null, actor: 'operator', ...line });
}

function jsonOf(group: DeadLetterGroup): Record<string, unknown> {
  return {
    ...group,
    first: new Date(group.first).toISOString(),
    last: new Date(group.last).toISOString(),
  };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, one) => total + one, 0);
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return MAX_LIMIT;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > MAX_LIMIT)
    throw new CommandError(`--limit ${text}: expected a whole number from 1 to ${MAX_LIMIT}`, 2);
  return value;
}
