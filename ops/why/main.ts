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
import type { Answer, Stage } from './findings.ts';
import { followMessage } from './message/follow-message.ts';
import { findTrace, traceJson, traceLines } from './trace.ts';

/** How long the dead letters of a partition are indexed before the question is answered, ms. */
const DEAD_LETTERS_MS = 300;

/**
 * `./ravand why`: follows one event through every service and shows where it is or where it ended,
 * or a message from the plan to the conversion. Works with what answers, and names the servers that
 * do not. With --trace it finds the events of a request.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
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
  const [messageId] = words;
  const { trace } = values;
  if ((messageId === undefined) === (trace === undefined))
    throw new UsageError(
      'give the id of a message or the message id of an event, or --trace with the trace of a request',
    );
  if (trace !== undefined && !isTrace(trace))
    throw new UsageError(
      `--trace ${trace}: expected 8 to 64 of the characters 0-9 and a-f, as in the header X-Service-Trace, or the trace-id of a traceparent`,
    );
  const isAccount = /^[1-9]\d{0,15}$/.test(values.account ?? '');
  const isMessage = messageId !== undefined && parseMessageId(messageId) !== undefined;
  if (!isAccount && (!(isMessage || trace !== undefined) || values.account !== undefined))
    throw new UsageError(
      `--account ${values.account ?? 'is missing'}: expected the id of the account`,
    );
  const accountId = isAccount ? Number(values.account) : undefined;
  const since = values.since === undefined ? undefined : Date.parse(values.since);
  if (since !== undefined && Number.isNaN(since))
    throw new CommandError(
      `--since ${values.since ?? ''}: expected a time like 2026-11-21T08:00:00Z`,
      2,
    );
  const { sources, close } = openSources(context);
  try {
    const followed = isMessage
      ? await followMessage(sources, { messageId, accountId, now: Date.now() })
      : undefined;
    if (followed && 'answer' in followed) {
      show(followed.answer, {
        ...followed,
        messageId: messageId ?? '',
        json: values.json === true,
      });
      return 0;
    }
    // A client may give an event such an id.
    if (followed && accountId === undefined) throw new CommandError(followed.unknown);
    // What is left for ./ravand dlq to index is in the log search, too.
    await indexDeadLetters({ ...sources, readMs: DEAD_LETTERS_MS }).catch(() => undefined);
    const now = Date.now();
    const asked = { json: values.json === true, since, now };
    if (trace === undefined)
      await follow(sources, { ...asked, messageId: messageId ?? '', accountId: accountId ?? 0 });
    else {
      const found = await findTrace(sources, { trace, accountId, since, now });
      const [only, another] = found.events;
      const isAlone = found.commands.length === 0;
      if (asked.json) print(JSON.stringify(traceJson(trace, found)));
      else if (only && !another && isAlone) {
        print(`the only event of trace ${trace}: ${only.messageId} of account ${only.accountId}`);
        await follow(sources, { ...asked, ...only });
      } else for (const line of traceLines(trace, found)) print(line);
    }
    return 0;
  } finally {
    await close();
  }
}

async function follow(
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
      redis,
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
