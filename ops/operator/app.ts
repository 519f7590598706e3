import { setTimeout as wait } from 'node:timers/promises';
import { delay } from '../../platform/backoff.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { indexDeadLetters } from '../dlq/dead-letter-index.ts';
import type { OperatorConfig } from './config.ts';
import { OperationQueue } from './operation-queue.ts';
import { runCommand } from './run-command.ts';
import { work } from './worker.ts';

/** Commands that run at a time: short ones never wait for a rebuild. */
const SHORT = 2;
const LONG = 2;
/** How long the shutdown waits for commands to stop, ms. */
const STOP_MS = 8000;
const SWEEP_MS = 15_000;

/**
 * Carries out what members ask for in the panel, with the commands of ./ravand, and keeps the list
 * of dead letters up to date. Several processes may run.
 */
export async function start(context: ServiceContext<OperatorConfig>): Promise<void> {
  const { config, log, signal, onShutdown } = context;
  const name = 'ravand-operator';
  const database = connectPostgres({ url: config.DATABASE_URL, log, name, max: 4 });
  onShutdown('postgres', () => database.end());
  const reader = new RangeReader({ settings: config, clientId: name, profile: 'interactive' });
  onShutdown('reader', () => reader.close());
  const queue = new OperationQueue(database);
  const run = (line: readonly string[], { stop }: { stop: AbortSignal }) =>
    runCommand(line, { env: process.env, stop });
  const workers = [
    work({ queue, run, log }, { isLong: false, most: SHORT, signal }),
    work({ queue, run, log }, { isLong: true, most: LONG, signal }),
    sweeping(queue, context),
    indexing(context, { database, reader }),
  ];
  onShutdown('commands', async () => {
    await Promise.race([Promise.allSettled(workers), wait(STOP_MS, undefined, { ref: false })]);
  });
  const admin = await context.openAdminPort({ notReady: () => [] });
  log.info({ admin }, 'the operator is running');
}

async function sweeping(
  queue: OperationQueue,
  { log, signal }: ServiceContext<OperatorConfig>,
): Promise<void> {
  while (!signal.aborted) {
    await queue.sweep().catch((error: unknown) => {
      log.warn({ err: error, code: 'operations_not_swept' }, 'ended operations stay for now');
    });
    await delay(SWEEP_MS, signal).catch(() => undefined);
  }
}

async function indexing(
  { config, log, registry, signal }: ServiceContext<OperatorConfig>,
  { database, reader }: { database: Database; reader: RangeReader },
): Promise<void> {
  const failures = metricsOf(registry).counter(
    'ravand_dead_letter_index_failures_total',
    'Reads of events.dead for the list of dead letters that failed; the next one continues.',
  );
  const operator = { settings: config, adminUrls: new Map<string, string>(), log };
  const hasEnded = () => signal.aborted;
  while (!hasEnded()) {
    try {
      await indexDeadLetters({ operator, database, reader });
    } catch (error) {
      if (hasEnded()) return;
      failures.inc();
      const message = error instanceof Error ? error.message : String(error);
      log.warn({ code: 'dead_letters_not_listed' }, `events.dead is not read (${message})`);
    }
    await delay(config.OPERATOR_INDEX_INTERVAL, signal).catch(() => undefined);
  }
}
