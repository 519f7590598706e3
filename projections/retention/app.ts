import type { ClickHouseClient } from '@clickhouse/client';
import type { Registry } from 'prom-client';
import { dayText, startOfTehranDay, tehranDay } from '../../events/tehran-time.ts';
import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import type { RetentionConfig } from './config.ts';
import { isDue } from './plan.ts';
import { enforceRetention } from './run.ts';
import { retentionLedger } from './steps.ts';
import { retentionWarehouse } from './warehouse.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { ServiceContext } from '../../platform/run-service.ts';

interface Parts {
  config: RetentionConfig;
  log: Log;
  registry: Registry;
  clickhouse: ClickHouseClient;
  database: Database;
  /** Aborts when the process ends. */
  signal: AbortSignal;
}

export interface Retention {
  /** Resolves when the step under way is done. */
  closed: Promise<void>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** ms between two looks at the clock. */
const EVERY = 30_000;

/**
 * Enforces the retention of accounts once a day in Tehran, in the background (ingest 2.4 rule 5).
 * One process of it runs.
 */
export function startRetention({
  config,
  log,
  registry,
  clickhouse,
  database,
  signal,
}: Parts): Retention {
  const metrics = metricsOf(registry);
  const rows = metrics.counter(
    'ravand_retention_rows_deleted_total',
    'Events that were deleted because their account does not keep them longer.',
  );
  const failures = metrics.counter(
    'ravand_retention_failures_total',
    'Runs of retention that a server cut short; the next attempt goes on.',
  );
  const behind = metrics.gauge(
    'ravand_retention_days_behind',
    'Whole days since retention was last enforced to its end; 0: today or yesterday.',
  );
  const ledger = retentionLedger(database);
  const warehouse = retentionWarehouse({ client: clickhouse, cluster: config.CLICKHOUSE_CLUSTER });
  const look = async () => {
    const now = Date.now();
    const day = tehranDay(now);
    const last = await ledger.lastDay();
    const lastDay = last === undefined ? undefined : Date.parse(last) / DAY;
    behind.set(lastDay === undefined ? 0 : Math.max(0, day - lastDay - 1));
    if (
      !isDue({
        day,
        sinceMidnight: now - startOfTehranDay(day),
        lastDay,
        runAt: config.RETENTION_HOUR * HOUR,
      })
    )
      return;
    const common = {
      ledger,
      warehouse,
      log,
      day: dayText(day),
      now,
      margin: config.RETENTION_MARGIN,
      signal,
    };
    const deleted = await enforceRetention({ ...common, deleted: (count) => rows.inc(count) });
    behind.set(0);
    log.info({ day: dayText(day), rows: deleted }, 'the retention of accounts was enforced');
  };
  const isOver = () => signal.aborted;
  const run = async () => {
    for (let failed = 0; !isOver();) {
      try {
        await look();
        failed = 0;
      } catch (error) {
        if (isOver()) return;
        failures.inc();
        const message = error instanceof Error ? error.message : String(error);
        if (failed++ % 20 === 0)
          log.warn(
            { code: 'retention_waiting' },
            `retention could not be enforced to its end (${message}); trying again`,
          );
      }
      await delay(EVERY, signal).catch(() => undefined);
    }
  };
  return { closed: run() };
}

/** How long the shutdown waits for the step under way, ms; an unfinished step is repeated. */
const STEP_TIMEOUT_MS = 5000;

/** The service: its clients, the daily runs and the admin port. */
export async function start(context: ServiceContext<RetentionConfig>): Promise<void> {
  const { config, log, registry, signal, onShutdown } = context;
  const name = 'ravand-retention';
  const clickhouse = connectClickhouse({ settings: config, name, requestTimeout: 620_000 });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({ url: config.DATABASE_URL, log, name });
  onShutdown('postgres', () => database.end());
  const retention = startRetention({ config, log, registry, clickhouse, database, signal });
  onShutdown('step under way', () =>
    Promise.race([
      retention.closed,
      new Promise<void>((resolve) => setTimeout(resolve, STEP_TIMEOUT_MS).unref()),
    ]),
  );
  const admin = await context.openAdminPort({ notReady: () => [] });
  log.info({ admin }, 'retention runs');
}
