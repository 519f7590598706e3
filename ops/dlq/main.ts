import { recordAudit } from '../../platform/audit.ts';
import {
  COMMAND_CONNECT_MS,
  connectPostgres,
  type Database,
} from '../../platform/postgres/pool.ts';
import { parseLine } from '../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { countText } from '../../cli/format.ts';
import { idOption } from '../admin/command.ts';
import { asWriter } from '../log/command-writer.ts';
import { openTools } from './redrive-tools.ts';
import { findGroup, groupsOf, type DeadLetterGroup } from './groups.ts';
import { indexDeadLetters } from './dead-letter-index.ts';
import { DeadLetterStore, type DeadLetterRow } from './dead-letter-store.ts';
import { readDeadLetter } from './read-dead-letter.ts';
import { redriveGroup, type RedriveReport } from './redrive.ts';
import { groupDetailLines, groupLines, deadLetterLines } from './render.ts';

const SHOWN_DEAD_LETTERS = 20;
const MAX_LIMIT = 100_000;

interface DlqContext {
  operator: OperatorContext;
  database: Database;
  reader: RangeReader;
  store: DeadLetterStore;
  /** Undefined: dead letters of all accounts. */
  accountId: number | undefined;
  json: boolean;
}

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

async function redrive(
  dlq: DlqContext,
  options: { group: string; limit: number; dryRun: boolean },
): Promise<number> {
  const { database } = dlq;
  const group = await requireGroup(dlq, options.group);
  const named = { ...options, group };
  return options.dryRun
    ? redriveNow(dlq, named)
    : asWriter({ database, command: 'dlq redrive' }, () => redriveNow(dlq, named));
}

async function redriveNow(
  dlq: DlqContext,
  options: { group: DeadLetterGroup; limit: number; dryRun: boolean },
): Promise<number> {
  const { json } = dlq;
  const { group } = options;
  const about = { group: group.group, stage: group.stage, reason: group.reason };
  if (!options.dryRun)
    await audit(dlq, {
      action: 'dead_letters.redrive_started',
      details: { ...about, limit: options.limit, dead: group.states.dead },
    });
  const { tools, close } = await openTools(dlq);
  try {
    const report = await redriveGroup(tools, { ...options, group: group.group });
    const summary = {
      ...about,
      letters: report.redriven.deadLetters,
      events: report.redriven.events,
      recovered: report.recovered,
      replayed: report.replayed,
      uncertain: report.uncertain,
      unready: sum(report.unready),
    };
    if (!options.dryRun) await audit(dlq, { action: 'dead_letters.redriven', details: summary });
    if (json)
      print(
        JSON.stringify({
          ...summary,
          dry_run: options.dryRun,
          // Of a killed redrive: this one decides about them.
          interrupted: options.dryRun ? group.states.redriving : 0,
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
  dlq: DlqContext,
  options: { group: string; reason: string; isDry: boolean },
): Promise<number> {
  if (options.reason === '' && !options.isDry)
    throw new CommandError(
      'dlq discard needs --reason TEXT: it is kept with the dead letters and in the audit log',
      2,
    );
  if (options.reason.length > 500)
    throw new CommandError('--reason is longer than 500 characters', 2);
  const group = await requireGroup(dlq, options.group);
  const about = {
    group: group.group,
    stage: group.stage,
    reason: group.reason,
    note: options.reason,
  };
  if (options.isDry) {
    const { dead } = group.states;
    const events = await dlq.store.deadEvents(group.group);
    if (dlq.json) print(JSON.stringify({ ...about, letters: dead, events, dry_run: true }));
    else
      print(
        `would discard ${countText(dead)} dead letters with ${countText(events)} events of group ${group.group} (${group.reason})`,
      );
    return 0;
  }
  if (group.states.dead > 0)
    await audit(dlq, {
      action: 'dead_letters.discarded',
      details: { ...about, dead: group.states.dead },
    });
  const { deadLetters, events } = await dlq.store.discard(group.group, options.reason);
  if (dlq.json) print(JSON.stringify({ ...about, letters: deadLetters, events }));
  else
    print(
      `discarded ${countText(deadLetters)} dead letters with ${countText(events)} events of group ${group.group}: the reconciliation still counts them as dead, and events.dead retains them; ./ravand dlq restore ${group.group} reverses it`,
    );
  return 0;
}

/** Reverses the last discard of a group; again: the one before. */
async function restore(
  dlq: DlqContext,
  options: { group: string; isDry: boolean },
): Promise<number> {
  const { store, json } = dlq;
  const { group, stage, reason } = await requireGroup(dlq, options.group);
  const last = await store.lastDiscard(group);
  if (!last) throw new CommandError(`no dead letter of group ${group} is discarded`);
  const about = { group, stage, reason, note: last.note };
  if (!options.isDry)
    await audit(dlq, {
      action: 'dead_letters.restored',
      details: { ...about, discarded: last.deadLetters },
    });
  const { deadLetters, events } = options.isDry ? last : await store.restore(group);
  if (json)
    print(JSON.stringify({ ...about, letters: deadLetters, events, dry_run: options.isDry }));
  else
    print(
      `${options.isDry ? 'would restore' : 'restored'} ${countText(deadLetters)} dead letters with ${countText(events)} events of group ${group}, discarded for: ${last.note}`,
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
    `${verb} ${countText(redriven.deadLetters)} dead letters with ${countText(redriven.events)} events of group ${group.group} (${group.reason})`,
    ...(recovered > 0
      ? [`${countText(recovered)} dead letters of a killed redrive are in the log already`]
      : []),
    ...(replayed > 0
      ? [`a replay has already stored the events of ${countText(replayed)} dead letters`]
      : []),
    ...[...unready].map(
      ([why, count]) => `left ${countText(count)} dead letters as they are: ${why}`,
    ),
    ...(uncertain > 0
      ? [
          `${countText(uncertain)} dead letters may be in the log or not: redrive the group again, it searches the log first`,
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
        `there is no group or dead letter ${JSON.stringify(name)}: ./ravand dlq lists the groups`,
      );
    case 'several':
      throw new CommandError(
        `${JSON.stringify(name)} is ${found.groups.map(({ group }) => group).join(' and ')}: name one of them`,
      );
  }
}

function audit(
  { database, accountId }: Pick<DlqContext, 'database' | 'accountId'>,
  line: { action: string; details: Record<string, unknown> },
): Promise<void> {
  return recordAudit(database, { accountId: accountId ?? null, actor: 'operator', ...line });
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
