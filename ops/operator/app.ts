import { setTimeout as wait } from 'node:timers/promises';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';
import { indexDeadLetters } from '../dlq/dead-letter-index.ts';
import type { OperatorConfig } from './config.ts';
import { OperationQueue } from './operation-queue.ts';
import { runCommand } from './run-command.ts';
import { listenForWakes } from './wakes.ts';
import { work, type WorkerPorts } from './worker.ts';

/** How long the shutdown waits for commands to stop, ms. */
const STOP_MS = 8000;
/** Between two reads of events.dead while somebody looks at the page, ms. */
const MIN_INDEX_MS = 4000;

/**
 * Carries out what members ask for in the panel, with the commands of ./ravand, and keeps the list
 * of dead letters up to date. Several processes may run. While nobody asks it does next to nothing.
 */
export async function start(context: ServiceContext<OperatorConfig>): Promise<void> {
  const { config, log, signal, onShutdown } = context;
  const name = 'ravand-operator';
  const database = connectPostgres({
    ...{ url: config.DATABASE_URL, size: config.DATABASE_POOL_SIZE, log, name, max: 4 },
  });
  onShutdown('postgres', () => database.end());
  const wakes = { operations: new WakeSignal(), dead_letters: new WakeSignal() };
  const redis = listenForWakes({ settings: config, log, name }, (what) => {
    wakes[what].notify();
  });
  onShutdown('redis', () => {
    redis.disconnect();
    return Promise.resolve();
  });
  const queue = new OperationQueue(database);
  const run: WorkerPorts['run'] = (line, options) =>
    runCommand(line, { env: process.env, ...options });
  const workers = [
    work({ queue, run, log }, { wake: wakes.operations, signal }),
    indexing(context, { database, wake: wakes.dead_letters }),
  ];
  onShutdown('commands', async () => {
    await Promise.race([Promise.allSettled(workers), wait(STOP_MS, undefined, { ref: false })]);
  });
  const admin = await context.openAdminPort({ notReady: () => [] });
  log.info({ admin }, 'the operator is running');
}

/** Lists dead letters at once when somebody looks at them, and now and then. */
async function indexing(
  { config, log, registry, signal }: ServiceContext<OperatorConfig>,
  { database, wake }: { database: Database; wake: WakeSignal },
): Promise<void> {
  const failures = metricsOf(registry).counter(
    'ravand_dead_letter_index_failures_total',
    'Reads of events.dead for the list of dead letters that failed; the next one continues.',
  );
  const operator = { settings: config, adminUrls: new Map<string, string>(), log };
  const hasEnded = () => signal.aborted;
  while (!hasEnded()) {
    // A client of Kafka costs CPU while it is open: this one lives as long as there is work.
    const reader = new RangeReader({
      ...{ settings: config, clientId: 'ravand-operator', profile: 'interactive' },
    });
    try {
      await indexDeadLetters({ operator, database, reader });
    } catch (error) {
      if (hasEnded()) return;
      failures.inc();
      const message = error instanceof Error ? error.message : String(error);
      log.warn({ code: 'dead_letters_not_listed' }, `events.dead is not read (${message})`);
    } finally {
      await reader.close().catch(() => undefined);
    }
    await wait(MIN_INDEX_MS, undefined, { signal }).catch(() => undefined);
    await wake.wait(config.OPERATOR_INDEX_INTERVAL, signal);
  }
}
