import { randomBytes } from 'node:crypto';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { print } from '../../cli/terminal.ts';
import { reportToParent } from '../../cli/with-parent.ts';
import { requireAccount, idOption } from '../admin/command.ts';
import { openArchive } from '../archive/archive-store.ts';
import { withStopSignal } from '../graceful-stop.ts';
import { withConnections, type Connections } from '../jobs/connections.ts';
import { ClickhouseRows } from './clickhouse-rows.ts';
import { carryOut } from './erase.ts';
import type { ErasureRow } from './erasure-row.ts';
import { ErasureStore } from './erasure-store.ts';
import type { Verification } from './findings.ts';
import { needleOf } from './needles.ts';
import { blankReasons } from './postgres-rows.ts';
import { isKnown, namesOf, type PersonNames } from './person.ts';
import { erasureJson, showStatus, statusLines } from './status.ts';
import { recoverErasures } from './recover.ts';
import { rewriteLog } from './rewrite.ts';
import { storedExports } from './remove.ts';
import { parseEraseLine, type EraseLine } from './request.ts';
import { erasuresToVerify, namesOfLine } from './to-verify.ts';
import { verifyErasure } from './verify.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

/** One wait of an erasure, ms. */
const TIMEOUT = 600_000;
/** Writers hold, or groups change over, at most so long, ms. */
const HOLD_TIMEOUT = 120_000;
interface Run {
  line: EraseLine;
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
  const line = parseEraseLine(args);
  const [name = ''] = line.words;
  const verb = VERBS[name] ?? erase;
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
  reportToParent({ erasure: id });
  const erasure = await carryOut(connections, id, {
    ...{ homeDir: context.home.dir, env: context.env, stop, timeout: TIMEOUT },
    ...{ report: show, waits: (waits) => reportToParent({ waits: [...waits] }) },
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
  { values }: EraseLine,
): Promise<{ accountId: number; person: PersonNames }> {
  const given = namesOfLine(values);
  if (values.account === undefined) throw new UsageError('--account is missing');
  if (given.length === 0 || given.includes(''))
    throw new UsageError('--user-id or --anonymous-id is missing');
  const accountId = idOption(values, 'account');
  await requireAccount(database, accountId);
  return { accountId, person: await namesOf(database, accountId, given) };
}

function personLines({ names, beside }: PersonNames): string[] {
  return [
    `${names.length === 1 ? 'one id is' : `${names.length} ids of one person are`} erased: ${names.join(', ')}`,
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
  const rows = new ClickhouseRows(onAccount(clickhouse, accountId), settings.CLICKHOUSE_CLUSTER);
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

/** Exits with 1 when something was found about one of them. */
async function verify(connections: Connections, run: Run): Promise<number> {
  const { database } = connections;
  const store = new ErasureStore(database);
  const erasures = await erasuresToVerify({ database, store }, run.line);
  const results: object[] = [];
  let isClean = true;
  for (const erasure of erasures) {
    const found = await search(connections, run, erasure);
    isClean &&= found.findings.length === 0;
    if (found.findings.length === 0 && erasure.state === 'rewritten')
      await store.verified(erasure.id);
    results.push({ erasure: erasure.id, state: erasure.state, ...found });
    if (!run.json) for (const line of verificationLines(erasure, found)) print(line);
  }
  const [only] = results;
  const isOne = run.line.words[1] !== undefined || run.line.values.account !== undefined;
  if (run.json) print(JSON.stringify(isOne ? only : { erasures: results }));
  else if (only === undefined) print('no erasure waits for a verification');
  return isClean ? 0 : 1;
}

function search(
  connections: Connections,
  { line, context, stop }: Run,
  erasure: ErasureRow,
): Promise<Verification> {
  return verifyErasure(connections, {
    erasure,
    names: namesOfLine(line.values),
    texts: line.values.text ?? [],
    files: storedExports(context.home.dir, context.env),
    spool: context.env['SPOOL_DIR']?.trim() || context.home.spool,
    redis: connections.settings,
    archive:
      (context.env['ARCHIVE_S3_URL']?.trim() ?? '') === ''
        ? undefined
        : openArchive(context.env, stop).store,
    signal: stop,
  });
}

function verificationLines(
  { id, state }: ErasureRow,
  { findings, mentions }: Verification,
): string[] {
  return [
    ...findings.map(({ store: where, place, count }) => `found: ${where} ${place} ${count}`),
    ...mentions.map(
      ({ store: where, place, count }) =>
        `named by events of other people: ${where} ${place} ${count}`,
    ),
    ...(findings.length === 0
      ? [`erasure ${id}: nothing was found`]
      : state === 'removed'
        ? ['the log still holds the person until ./ravand erase rewrite']
        : findings.some(({ store: where }) => where === 'archive')
          ? ['the archive still holds the person until the next ./ravand archive']
          : []),
  ];
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
