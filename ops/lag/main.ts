import kafkajs, { type Admin } from 'kafkajs';
import { delay } from '../../platform/backoff.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { parseLine } from '../../cli/arguments.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { printError, print } from '../../cli/terminal.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';
import { timeText } from '../../cli/format.ts';
import { groupLags, partitionLags, type Lag } from './evaluate.ts';
import {
  fetchAppendTimes,
  fetchLagSnapshot,
  fetchRetentions,
  type LagSnapshot,
} from './group-offsets.ts';
import { lagLines } from './render.ts';
import { messageLines, messageWarnings, runLines, runWarnings } from './campaign-runs.ts';
import { waitingMessages, type WaitingMessages } from '../../pipeline/dispatcher/runs/balance.ts';
import { waitingRuns, type WaitingRuns } from '../../pipeline/planner/waiting-runs.ts';

/** Time between the two snapshots that rates are computed from, ms. */
const SNAPSHOT_INTERVAL_MS = 1000;
const SNAPSHOT_TIMEOUT_MS = 15_000;
/** An unattended --watch ends after this time, ms. */
const MAX_WATCH_MS = 12 * 3_600_000;

/**
 * `./ravand lag`: lag of every consumer group, per topic and partition, and runs and messages of
 * campaigns that wait. Exits with 1 when unread records are close to their retention or already
 * deleted, when a run is late, and when outcomes are not published.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: {
      watch: { type: 'boolean' },
      partitions: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  });
  const options = { json: values.json === true, everyPartition: values.partitions === true };
  const operator = operatorContext(context);
  const database = connectPostgres({
    url: operator.settings.DATABASE_URL,
    log: operator.log,
    name: 'ravand-lag',
    max: 1,
  });
  try {
    if (values.watch === true) return await watch({ operator, database, ...options });
    const admin = await connect(operator);
    try {
      const before = await bounded(fetchLagSnapshot(admin, database));
      await delay(SNAPSHOT_INTERVAL_MS);
      const measurement = await measure({ admin, database, operator, before });
      printLags(measurement, options);
      return warningsOf(measurement).length > 0 ? 1 : 0;
    } finally {
      await admin.disconnect();
    }
  } finally {
    await database.end();
  }
}

interface Measurement {
  snapshot: LagSnapshot;
  lags: Lag[];
  /** Undefined: PostgreSQL does not answer. */
  runs: WaitingRuns | undefined;
  messages: WaitingMessages | undefined;
}

async function measure(options: {
  admin: Admin;
  database: Database;
  operator: OperatorContext;
  before: LagSnapshot;
}): Promise<Measurement> {
  const { admin, database, operator, before } = options;
  const snapshot = await bounded(fetchLagSnapshot(admin, database));
  const topics = [...new Set(snapshot.offsets.map(({ topic }) => topic))];
  const [appended, retention, runs, messages] = await bounded(
    Promise.all([
      fetchAppendTimes(snapshot.offsets, operator.settings),
      fetchRetentions(admin, topics),
      waitingRuns(database).catch(() => undefined),
      waitingMessages(database).catch(() => undefined),
    ]),
  );
  const lags = partitionLags({ before, now: snapshot, appended, retention });
  return { snapshot, lags, runs, messages };
}

function warningsOf({ lags, runs, messages }: Measurement): string[] {
  return [
    ...lags.flatMap(({ warning }) => warning ?? []),
    ...(runs ? runWarnings(runs) : []),
    ...(messages ? messageWarnings(messages) : []),
  ];
}

/**
 * Refreshes every second until Ctrl-C: in place on a terminal, otherwise as further lines. An
 * unreachable broker is reported and retried.
 */
async function watch(options: {
  operator: OperatorContext;
  database: Database;
  json: boolean;
  everyPartition: boolean;
}): Promise<number> {
  const { operator, database } = options;
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  const until = Date.now() + MAX_WATCH_MS;
  let admin: Admin | undefined;
  let before: LagSnapshot | undefined;
  while (!ended.signal.aborted && Date.now() < until) {
    try {
      admin ??= await connect(operator);
      if (before) {
        const measurement = await measure({ admin, database, operator, before });
        before = measurement.snapshot;
        if (!options.json) startScreen(measurement.snapshot.at);
        printLags(measurement, options);
      } else before = await bounded(fetchLagSnapshot(admin, database));
    } catch (error) {
      printError(error instanceof Error ? error.message : String(error));
      await admin?.disconnect().catch(() => undefined);
      admin = undefined;
      before = undefined;
    }
    await delay(SNAPSHOT_INTERVAL_MS, ended.signal).catch(() => undefined);
  }
  await admin?.disconnect();
  return 0;
}

function startScreen(at: number): void {
  if (process.stdout.isTTY) process.stdout.write('\u001b[H\u001b[2J');
  print(`${timeText(at)}  Ctrl-C to stop`);
}

function printLags(
  measurement: Measurement,
  { json, everyPartition }: { json: boolean; everyPartition: boolean },
): void {
  const { snapshot, lags, runs, messages } = measurement;
  const warnings = warningsOf(measurement);
  if (json) {
    print(
      JSON.stringify({
        at: new Date(snapshot.at).toISOString(),
        groups: groupLags(lags).map(jsonOf),
        partitions: lags.map(jsonOf),
        ...{ campaign_runs: runs ?? null, messages: messages ?? null },
        warnings,
        problems: snapshot.problems,
      }),
    );
    return;
  }
  for (const line of lagLines(lags, { everyPartition })) print(line);
  if (runs) for (const line of runLines(runs)) print(line);
  if (messages) for (const line of messageLines(messages)) print(line);
  for (const sentence of [...warnings, ...snapshot.problems]) print(`! ${sentence}`);
}

/** The --json form: seconds, and null for unknown values. */
function jsonOf(lag: Lag): Record<string, unknown> {
  return {
    topic: lag.topic,
    group: lag.group,
    partition: lag.partition ?? null,
    end: lag.end,
    position: lag.position ?? null,
    records: lag.records,
    missed: lag.missed,
    behind_seconds: lag.age === undefined ? null : lag.age / 1000,
    read_per_second: lag.readRate,
    new_per_second: lag.appendRate,
    catch_up_seconds: lag.catchUpSeconds ?? null,
    retention_used: lag.retentionUsed ?? null,
    warning: lag.warning ?? null,
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
    throw new CommandError(
      `no Kafka broker answers at ${settings.KAFKA_BROKERS.join(', ')} (${why}): ./ravand status shows the services, ./ravand logs kafka shows why it is down`,
    );
  }
  return admin;
}

function bounded<T>(work: Promise<T>): Promise<T> {
  return withDeadline(
    {
      ms: SNAPSHOT_TIMEOUT_MS,
      waitingFor: 'offsets from Kafka: check the broker with ./ravand status',
    },
    work,
  );
}
