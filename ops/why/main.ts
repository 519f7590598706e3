import kafkajs, { type Admin } from 'kafkajs';
import { parseMessageId } from '../../events/messages/message-id.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { parseLine } from '../../cli/arguments.ts';
import { CommandError, UsageError, type CommandContext } from '../../cli/command.ts';
import { paint, print } from '../../cli/terminal.ts';
import { indexDeadLetters } from '../dlq/dead-letter-index.ts';
import { openRedis } from '../../platform/redis/open-redis.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { operatorContext } from '../operator-context.ts';
import { gather, type Question, type Sources } from './gather.ts';
import { isTrace } from '../../platform/http/trace.ts';
import { explain } from './explain.ts';
import { accountsText, findAccounts } from './find-accounts.ts';
import type { Answer, Stage } from './findings.ts';
import { followMessage } from './message/follow-message.ts';
import { findTrace, traceJson, traceLines } from './trace.ts';

/** How long the dead letters of a partition are indexed before the question is answered, ms. */
const DEAD_LETTERS_MS = 300;

/** What the command line asks for: an id or a trace. */
interface Asked {
  id: string | undefined;
  trace: string | undefined;
  accountId: number | undefined;
  /** ms since the epoch */
  since: number | undefined;
  now: number;
  json: boolean;
}

/**
 * `./ravand why`: follows one event through every service and shows where it is or where it ended,
 * or a message from the plan to the conversion. Works with what answers, and names the servers that
 * do not. Without --account it finds out whose the event is. With --trace it finds the events of a
 * request.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const asked = readLine(args);
  const { sources, close } = openSources(context);
  try {
    if (asked.trace === undefined) await followId(sources, { ...asked, id: asked.id ?? '' });
    else await followTrace(sources, { ...asked, trace: asked.trace });
    return 0;
  } finally {
    await close();
  }
}

function readLine(args: string[]): Asked {
  const { values, words } = parseLine({
    args,
    words: { min: 0, max: 1 },
    options: {
      account: { type: 'string' },
      trace: { type: 'string' },
      since: { type: 'string' },
      json: { type: 'boolean' },
    },
  });
  const [id] = words;
  const { trace, account } = values;
  if ((id === undefined) === (trace === undefined))
    throw new UsageError(
      'give the id of a message or the message id of an event, or --trace with the trace of a request',
    );
  if (trace !== undefined && !isTrace(trace))
    throw new UsageError(
      `--trace ${trace}: expected 8 to 64 of the characters 0-9 and a-f, as in the header X-Service-Trace, or the trace-id of a traceparent`,
    );
  if (account !== undefined && !/^[1-9]\d{0,15}$/.test(account))
    throw new UsageError(`--account ${account}: expected the id of the account`);
  const since = values.since === undefined ? undefined : Date.parse(values.since);
  if (since !== undefined && Number.isNaN(since))
    throw new CommandError(
      `--since ${values.since ?? ''}: expected a time like 2026-11-21T08:00:00Z`,
      2,
    );
  return {
    ...{ id, trace, since, now: Date.now(), json: values.json === true },
    accountId: account === undefined ? undefined : Number(account),
  };
}

async function followId(sources: Sources, asked: Asked & { id: string }): Promise<void> {
  const { id: messageId, accountId, since, now, json } = asked;
  const message =
    parseMessageId(messageId) === undefined
      ? undefined
      : await followMessage(sources, { messageId, accountId, now });
  if (message && 'answer' in message) {
    show(message.answer, { ...message, messageId, json });
    return;
  }
  // A client may give an event such an id.
  await indexAllDeadLetters(sources);
  const question = { messageId, since, now, json };
  if (accountId !== undefined) {
    await followEvent(sources, { ...question, accountId });
    return;
  }
  const found = await findAccounts(sources, question);
  const [only, another] = found.accounts;
  if (only === undefined && message) throw new CommandError(message.unknown);
  if (only === undefined || another !== undefined)
    throw new CommandError(accountsText(messageId, found));
  if (!json) print(`event ${messageId} of account ${only}`);
  await followEvent(sources, { ...question, accountId: only });
}

async function followTrace(sources: Sources, asked: Asked & { trace: string }): Promise<void> {
  const { trace, since, now, json } = asked;
  await indexAllDeadLetters(sources);
  const found = await findTrace(sources, asked);
  const [only, another] = found.events;
  const isAlone = found.commands.length === 0;
  if (json) print(JSON.stringify(traceJson(trace, found)));
  else if (only && !another && isAlone) {
    print(`the only event of trace ${trace}: ${only.messageId} of account ${only.accountId}`);
    await followEvent(sources, { ...only, since, now, json });
  } else for (const line of traceLines(trace, found)) print(line);
}

/** What is left for ./ravand dlq to index is in the log search, too. */
async function indexAllDeadLetters(sources: Sources): Promise<void> {
  await indexDeadLetters({ ...sources, readMs: DEAD_LETTERS_MS }).catch(() => undefined);
}

async function followEvent(
  sources: Sources,
  { json, ...question }: Question & { json: boolean },
): Promise<void> {
  show(explain(await gather(sources, question)), { ...question, json });
}

function show(
  answer: Answer,
  { messageId, accountId, json }: Pick<Question, 'messageId' | 'accountId'> & { json: boolean },
): void {
  if (json)
    print(JSON.stringify({ message_id: messageId, account_id: accountId, ...jsonOf(answer) }));
  else printAnswer(answer);
}

/** The --json form; its field names and states are a contract with scripts. */
function jsonOf({ verdict, stages }: Answer): Record<string, unknown> {
  return {
    verdict,
    stations: stages.map(({ name, state, message }) => ({
      station: name,
      state: state === 'unavailable' ? 'away' : state,
      says: message,
    })),
  };
}

function printAnswer({ verdict, stages }: Answer): void {
  print(paint('bold', verdict));
  for (const { name, state, message } of stages)
    print(`  ${name.padEnd(13)}${colour(state, state.padEnd(11))}  ${message}`);
}

function colour(state: Stage['state'], text: string): string {
  switch (state) {
    case 'done':
      return paint('green', text);
    case 'waiting':
    case 'unknown':
      return paint('yellow', text);
    case 'ended':
    case 'unavailable':
      return paint('red', text);
    case 'absent':
      return paint('dim', text);
  }
}

function openSources(context: CommandContext): { sources: Sources; close: () => Promise<void> } {
  const operator = operatorContext(context);
  const { settings, log } = operator;
  const database = connectPostgres({ url: settings.DATABASE_URL, log, name: 'ravand-why', max: 3 });
  const clickhouse = connectClickhouse({
    settings,
    name: 'ravand-why',
    requestTimeout: 12_000,
    connections: 3,
  });
  // An unavailable server is reported at once: no retries.
  const redis = openRedis(settings, {
    lazyConnect: true,
    connectTimeout: 2000,
    commandTimeout: 3000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  const reader = new RangeReader({
    settings: settings,
    clientId: 'ravand-why',
    profile: 'interactive',
  });
  let connecting: Promise<Admin> | undefined;
  let connectingRedis: Promise<unknown> | undefined;
  const connectAdmin = async () => {
    const admin = new kafkajs.Kafka({
      ...kafkajsConnection(settings, 'ravand-why'),
      retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 2 },
    }).admin();
    await admin.connect();
    return admin;
  };
  return {
    sources: {
      operator,
      database,
      clickhouse,
      async redis() {
        await (connectingRedis ??= redis.connect());
        return redis;
      },
      reader,
      admin: () => (connecting ??= connectAdmin()),
    },
    async close() {
      redis.disconnect();
      const admin = connecting?.then((one) => one.disconnect());
      await Promise.allSettled([reader.close(), database.end(), clickhouse.close(), admin]);
    },
  };
}
