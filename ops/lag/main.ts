import kafkajs, { type Admin } from 'kafkajs';
import { delay } from '../../platform/backoff.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { parseLine } from '../../cli/arguments.ts';
import { Refusal } from '../../cli/command.ts';
import type { DelegatedContext } from '../../cli/delegate.ts';
import { complain, print } from '../../cli/terminal.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { timeText } from '../../cli/format.ts';
import { groupLags, partitionLags, type Lag } from './evaluate.ts';
import { appendTimes, lookAtLags, retentions, type Seen } from './look.ts';
import { lagLines } from './render.ts';

export const LAG_USAGE = 'lag [--watch] [--partitions] [--json]';

/** Between the two looks that a rate is made from, ms. */
const BETWEEN_LOOKS = 1000;
const LOOK_MS = 15_000;
/** A watch that somebody forgot ends by itself, ms. */
const LONGEST_WATCH = 12 * 3_600_000;

/**
 * `./ravand lag`: how far every group is behind, per topic and partition. Answers 1 when something
 * is about to leave the log unread.
 */
export async function run(args: string[], context: DelegatedContext): Promise<number> {
  const { values } = parseLine({
    args,
    usage: LAG_USAGE,
    options: {
      watch: { type: 'boolean' },
      partitions: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const options = { json: values.json === true, everyPartition: values.partitions === true };
  const surroundings = operatorContext(context);
  const database = connectPostgres({
    url: surroundings.settings.DATABASE_URL,
    log: surroundings.log,
    name: 'ravand-lag',
    max: 1,
  });
  try {
    if (values.watch === true) return await watch({ surroundings, database, ...options });
    const admin = await connect(surroundings);
    try {
      const before = await bounded(lookAtLags(admin, database));
      await delay(BETWEEN_LOOKS, new AbortController().signal);
      const measured = await measure({ admin, database, surroundings, before });
      show(measured, options);
      return measured.lags.some(({ warning }) => warning !== undefined) ? 1 : 0;
    } finally {
      await admin.disconnect();
    }
  } finally {
    await database.end();
  }
}

interface Measured {
  seen: Seen;
  lags: Lag[];
}

async function measure(options: {
  admin: Admin;
  database: Database;
  surroundings: OperatorContext;
  before: Seen;
}): Promise<Measured> {
  const { admin, database, surroundings, before } = options;
  const seen = await bounded(lookAtLags(admin, database));
  const topics = [...new Set(seen.standings.map(({ topic }) => topic))];
  const [appended, retention] = await bounded(
    Promise.all([appendTimes(seen.standings, surroundings.settings), retentions(admin, topics)]),
  );
  return { seen, lags: partitionLags({ before, now: seen, appended, retention }) };
}

/**
 * Looks again every second until Ctrl-C: in place on a terminal, as lines one after another
 * otherwise. A broker that is away is said, and waited for.
 */
async function watch(options: {
  surroundings: OperatorContext;
  database: Database;
  json: boolean;
  everyPartition: boolean;
}): Promise<number> {
  const { surroundings, database } = options;
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  const until = Date.now() + LONGEST_WATCH;
  let admin: Admin | undefined;
  let before: Seen | undefined;
  while (!ended.signal.aborted && Date.now() < until) {
    try {
      admin ??= await connect(surroundings);
      if (before) {
        const measured = await measure({ admin, database, surroundings, before });
        before = measured.seen;
        if (!options.json) startScreen(measured.seen.at);
        show(measured, options);
      } else before = await bounded(lookAtLags(admin, database));
    } catch (error) {
      complain(error instanceof Error ? error.message : String(error));
      await admin?.disconnect().catch(() => undefined);
      admin = undefined;
      before = undefined;
    }
    await delay(BETWEEN_LOOKS, ended.signal).catch(() => undefined);
  }
  await admin?.disconnect();
  return 0;
}

function startScreen(at: number): void {
  if (process.stdout.isTTY) process.stdout.write('\u001b[H\u001b[2J');
  print(`${timeText(at)}  Ctrl-C ends`);
}

function show(
  { seen, lags }: Measured,
  { json, everyPartition }: { json: boolean; everyPartition: boolean },
): void {
  const warnings = lags.flatMap(({ warning }) => warning ?? []);
  if (json) {
    print(
      JSON.stringify({
        at: new Date(seen.at).toISOString(),
        groups: groupLags(lags).map(plain),
        partitions: lags.map(plain),
        warnings,
        problems: seen.problems,
      }),
    );
    return;
  }
  for (const line of lagLines(lags, { everyPartition })) print(line);
  for (const sentence of [...warnings, ...seen.problems]) print(`! ${sentence}`);
}

/** As other programs read it: seconds, and null where nothing is known. */
function plain(lag: Lag): Record<string, unknown> {
  const {
    group,
    topic,
    partition,
    end,
    position,
    records,
    age,
    missed,
    rate,
    arriving,
    catchUp,
    retentionUsed,
    warning,
  } = lag;
  return {
    ...{
      topic,
      group,
      partition: partition ?? null,
      end,
      position: position ?? null,
      records,
      missed,
    },
    behind_seconds: age === undefined ? null : age / 1000,
    read_per_second: rate,
    new_per_second: arriving,
    catch_up_seconds: catchUp ?? null,
    retention_used: retentionUsed ?? null,
    warning: warning ?? null,
  };
}

async function connect({ settings }: OperatorContext): Promise<Admin> {
  const admin = new kafkajs.Kafka({
    ...kafkajsConnection(settings, 'ravand-lag'),
    retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 3 },
  }).admin();
  try {
    await admin.connect();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Refusal(
      `no Kafka broker answers at ${settings.KAFKA_BROKERS.join(', ')} (${why}): ./ravand status shows the parts, ./ravand logs kafka why it is down`,
    );
  }
  return admin;
}

function bounded<T>(work: Promise<T>): Promise<T> {
  return withDeadline(
    {
      ms: LOOK_MS,
      waitingFor: 'Kafka to tell ends and positions: is the broker up? ./ravand status',
    },
    work,
  );
}
