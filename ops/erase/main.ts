import { randomBytes } from 'node:crypto';
import { parseLine, REPEATED } from '../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { requireAccount, idOption } from '../admin/command.ts';
import { withStopSignal } from '../graceful-stop.ts';
import { withConnections, type Connections } from '../jobs/connections.ts';
import { ClickhouseRows } from './clickhouse-rows.ts';
import { carryOut } from './erase.ts';
import { ErasureStore } from './erasure-store.ts';
import { needleOf } from './needles.ts';
import { blankReasons } from './postgres-rows.ts';
import { isKnown, namesOf, type PersonNames } from './person.ts';
import { erasureJson, showStatus, statusLines } from './status.ts';
import { recoverErasures } from './recover.ts';
import { rewriteLog } from './rewrite.ts';
import { storedExports } from './remove.ts';
import { verifyErasure } from './verify.ts';

/** One wait of an erasure, ms. */
const TIMEOUT = 600_000;
/** Writers hold, or groups change over, at most so long, ms. */
const HOLD_TIMEOUT = 120_000;
const OPTIONS = {
  account: { type: 'string' },
  'user-id': REPEATED,
  'anonymous-id': REPEATED,
  text: REPEATED,
  resume: { type: 'string' },
  forget: { type: 'boolean' },
  force: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type Line = ReturnType<typeof parseLine<typeof OPTIONS>>;

interface Run {
  line: Line;
  context: CommandContext;
  stop: AbortSignal;
  json: boolean;
}

type Verb = (connections: Connections, run: Run) => Promise<number>;

const VERBS: Readonly<Record<string, Verb>> = {
  '': erase,
  status,
  verify,
  rewrite,
  recover,
  'rotate-key': rotateKey,
};

/** `./ravand erase …` (docs/erasure.md). */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const line = parseLine({ args, options: OPTIONS, words: { min: 0, max: 2 } });
  const [name = ''] = line.words;
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (!verb)
    throw new UsageError(`erase ${name}: there is status, verify, rewrite, recover and rotate-key`);
  return withStopSignal((stop) =>
    withConnections({ context, stop }, (connections) =>
      verb(connections, { line, context, stop, json: line.values.json === true }),
    ),
  );
}

async function erase(connections: Connections, run: Run): Promise<number> {
  const { line, context, stop, json } = run;
  const { database } = connections;
  const store = new ErasureStore(database);
  const show = (sentence: string) => {
    if (!json) print(sentence);
  };
  let id: number;
  if (line.values.resume === undefined) {
    const { accountId, person } = await personOfLine(connections, line);
    if (line.values['dry-run'] === true) return dryRun(connections, run, { accountId, person });
    if (line.values.force !== true && !(await isKnown(connections, accountId, person.names)))
      throw new CommandError(unknownSentence(accountId, person));
    for (const sentence of personLines(person)) show(sentence);
    id = await store.request(accountId, person.names);
  } else id = idOption(line.values, 'resume');
  await blankTexts(database, { id, texts: line.values.text ?? [] }, show);
  const erasure = await carryOut(connections, id, {
    ...{ homeDir: context.home.dir, env: context.env, stop, timeout: TIMEOUT, report: show },
    forget: line.values.forget === true,
  });
  if (json) print(JSON.stringify(erasureJson(erasure)));
  else for (const sentence of statusLines([erasure])) print(sentence);
  return 0;
}

/** Other texts of the person are known to the operator only, and are not stored. */
async function blankTexts(
  database: Connections['database'],
  { id, texts }: { id: number; texts: readonly string[] },
  show: (sentence: string) => void,
): Promise<void> {
  const erasure = texts.length > 0 ? await new ErasureStore(database).find(id) : undefined;
  if (!erasure) return;
  const needles = texts.filter((text) => text !== '').map((text) => needleOf(text, false));
  const blanked = await blankReasons(database, erasure.accountId, needles);
  if (blanked > 0) show(`${blanked} reasons of operators blanked`);
}

async function personOfLine(
  { database }: Connections,
  { values }: Line,
): Promise<{ accountId: number; person: PersonNames }> {
  const given = [...(values['user-id'] ?? []), ...(values['anonymous-id'] ?? [])];
  if (values.account === undefined) throw new UsageError('--account is missing');
  if (given.length === 0 || given.includes(''))
    throw new UsageError('--user-id or --anonymous-id is missing');
  const accountId = idOption(values, 'account');
  await requireAccount(database, accountId);
  return { accountId, person: await namesOf(database, accountId, given) };
}

function personLines({ names, beside }: PersonNames): string[] {
  return [
    `${names.length} distinct ids of one person are erased: ${names.join(', ')}`,
    ...(beside.length === 0
      ? []
      : [
          `not erased, because their aliases were undone or refused: ${beside.join(', ')}. Give each that is the same person with --user-id or --anonymous-id`,
        ]),
  ];
}

/** An operator who mistyped an id must not believe that somebody was erased. */
function unknownSentence(accountId: number, { names }: PersonNames): string {
  return `account ${accountId} holds no event, profile or alias of ${names.join(', ')}: check --account and the id. What was accepted in the last seconds may not be stored yet: then repeat the command. --force erases also somebody of whom only the log may hold something`;
}

/** Exits with 1 for somebody who is not known. */
async function dryRun(
  connections: Connections,
  { json }: Run,
  { accountId, person }: { accountId: number; person: PersonNames },
): Promise<number> {
  const { clickhouse, settings } = connections;
  const rows = new ClickhouseRows(clickhouse, settings.CLICKHOUSE_CLUSTER);
  const where = await rows.namesWhere('profiles', { accountId, names: person.names });
  const events = await rows.count('events', where);
  const known = await isKnown(connections, accountId, person.names);
  if (json)
    print(JSON.stringify({ dry_run: true, account_id: accountId, known, ...person, events }));
  else
    for (const sentence of [
      ...(known ? personLines(person) : [unknownSentence(accountId, person)]),
      `${events} stored events`,
      'nothing was changed',
    ])
      print(sentence);
  return known ? 0 : 1;
}

async function status(connections: Connections, { json }: Run): Promise<number> {
  return showStatus(new ErasureStore(connections.database), { json });
}

async function verify(connections: Connections, run: Run): Promise<number> {
  const { line, context, stop, json } = run;
  const { database, settings } = connections;
  const store = new ErasureStore(database);
  const id = idOption({ id: line.words[1] }, 'id');
  const erasure = await store.find(id);
  if (!erasure) throw new CommandError(`there is no erasure ${id}: see ./ravand erase status`);
  const { values } = line;
  const { findings, mentions } = await verifyErasure(connections, {
    erasure,
    names: [...(values['user-id'] ?? []), ...(values['anonymous-id'] ?? [])],
    texts: values.text ?? [],
    files: storedExports(context.home.dir, context.env),
    spool: context.env['SPOOL_DIR']?.trim() || context.home.spool,
    redisUrl: settings.REDIS_URL,
    signal: stop,
  });
  const isClean = findings.length === 0;
  if (isClean && erasure.state === 'rewritten') await store.verified(id);
  if (json) print(JSON.stringify({ erasure: id, state: erasure.state, findings, mentions }));
  else {
    for (const { store: where, place, count } of findings)
      print(`found: ${where} ${place} ${count}`);
    for (const { store: where, place, count } of mentions)
      print(`named by events of other people: ${where} ${place} ${count}`);
    if (isClean) print(`erasure ${id}: nothing was found`);
    else if (erasure.state === 'removed')
      print('the log still holds the person until ./ravand erase rewrite');
  }
  return isClean ? 0 : 1;
}

async function rewrite(connections: Connections, { stop: signal, json }: Run): Promise<number> {
  const report = (sentence: string) => {
    if (!json) print(sentence);
  };
  const done = await rewriteLog(connections, { signal, timeout: HOLD_TIMEOUT, report });
  if (json) print(JSON.stringify({ rewritten: done }));
  else
    print(
      done.length === 0
        ? 'nothing waits in the log'
        : `erasures ${done.join(', ')} are complete in the log`,
    );
  return 0;
}

async function recover(connections: Connections, { stop, json }: Run): Promise<number> {
  const { restored, keyless } = await recoverErasures(connections, stop);
  if (json) print(JSON.stringify({ restored, keyless }));
  else {
    if (restored.length > 0)
      print(
        `restored: ${restored.join(', ')}. Erase these people again, with their names and --force`,
      );
    if (keyless.length > 0)
      print(
        `not restored, because their key is lost: ${keyless.join(', ')}. Erase these people again, with their names and --force`,
      );
    if (restored.length + keyless.length === 0) print('PostgreSQL holds every erasure of the log');
  }
  return keyless.length === 0 ? 0 : 1;
}

async function rotateKey(connections: Connections, { json }: Run): Promise<number> {
  const destroyed = await new ErasureStore(connections.database).rotateKey(randomBytes(32));
  print(
    json ? JSON.stringify({ destroyed }) : `a new key hashes names; ${destroyed} were destroyed`,
  );
  return 0;
}
