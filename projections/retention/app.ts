import type { ClickHouseClient } from '@clickhouse/client';
import { dayText, startOfTehranDay, tehranDay } from '../../events/tehran-time.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { delay } from '../../platform/backoff.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import type { RetentionConfig } from './config.ts';
import { isDue } from './plan.ts';
import { enforceRetention } from './run.ts';
import { sweepLinks } from './sweep-links.ts';
import { sweepCommandBooks, sweepRecipients } from './sweep-recipients.ts';
import { retentionLedger } from './steps.ts';
import { retentionRows } from './clickhouse-rows.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { watchStorage } from '../../platform/clickhouse/storage-metrics.ts';
import type { ServiceContext } from '../../platform/run-service.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Interval between two checks of the clock, ms. */
const CHECK_INTERVAL_MS = 30_000;

interface RetentionServers {
  clickhouse: ClickHouseClient;
  database: Database;
}

/**
 * Enforces the retention of accounts once a day in Tehran, in the background (ingest 2.4, rule 5).
 * At most one process of it runs. Resolves when the signal has aborted and the current step is
 * done.
 */
async function retentionLoop(
  { config, log, registry, signal }: ServiceContext<RetentionConfig>,
  { clickhouse, database }: RetentionServers,
): Promise<void> {
  const metrics = metricsOf(registry);
  const rows = metrics.counter(
    'ravand_retention_rows_deleted_total',
    'Events deleted because the retention of their account has passed.',
  );
  const recipients = metrics.counter(
    'ravand_retention_recipients_deleted_total',
    'Recipients of messages deleted because no token names them any more.',
  );
  const links = metrics.counter(
    'ravand_retention_links_deleted_total',
    'Short links deleted because no message that counts holds them any more.',
  );
  const failures = metrics.counter(
    'ravand_retention_failures_total',
    'Retention runs that failed; the next attempt continues.',
  );
  const behind = metrics.gauge(
    'ravand_retention_days_behind',
    'Whole days since the last completed retention run; 0 means today or yesterday.',
  );
  const ledger = retentionLedger(database);
  const stored = retentionRows(clickhouse, config.CLICKHOUSE_CLUSTER);
  let linksAt = Number.NEGATIVE_INFINITY;
  const runIfDue = async () => {
    const now = Date.now();
    if (now - linksAt >= HOUR) {
      links.inc(await sweepLinks(database, { signal }));
      linksAt = now;
    }
    const today = tehranDay(now);
    const last = await ledger.lastDay();
    const lastDay = last === undefined ? undefined : Date.parse(last) / DAY;
    behind.set(lastDay === undefined ? 0 : Math.max(0, today - lastDay - 1));
    const sinceMidnight = now - startOfTehranDay(today);
    if (!isDue({ day: today, sinceMidnight, lastDay, runAt: config.RETENTION_HOUR * HOUR })) return;
    const day = dayText(today);
    const deleted = await enforceRetention({
      ledger,
      stored,
      log,
      day,
      now,
      margin: config.RETENTION_MARGIN,
      signal,
      deleted: (count) => rows.inc(count),
    });
    recipients.inc(await sweepRecipients(database, signal));
    await sweepCommandBooks(database);
    behind.set(0);
    log.info({ day, rows: deleted }, 'retention run completed');
  };
  const stopped = () => signal.aborted;
  for (let failed = 0; !stopped();) {
    try {
      await runIfDue();
      failed = 0;
    } catch (error) {
      if (stopped()) return;
      failures.inc();
      const message = error instanceof Error ? error.message : String(error);
      if (failed++ % 20 === 0)
        log.warn({ code: 'retention_waiting' }, `retention run failed (${message}); retrying`);
    }
    await delay(CHECK_INTERVAL_MS, signal).catch(() => undefined);
  }
}

/** How long the shutdown waits for the current step, ms; an unfinished step is repeated. */
const STEP_TIMEOUT_MS = 5000;

export async function start(context: ServiceContext<RetentionConfig>): Promise<void> {
  const { config, log, onShutdown } = context;
  const name = 'ravand-retention';
  const clickhouse = connectClickhouse({ settings: config, name, requestTimeout: 620_000 });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  // Here, because one process of this service runs in an installation.
  const unwatch = watchStorage({
    ...{ client: clickhouse, log, registry: context.registry },
    ...{ database: config.CLICKHOUSE_DATABASE, cluster: config.CLICKHOUSE_CLUSTER },
  });
  onShutdown('storage metrics', () => {
    unwatch();
    return Promise.resolve();
  });
  const loop = retentionLoop(context, { clickhouse, database });
  onShutdown('current step', () =>
    Promise.race([loop, wait(STEP_TIMEOUT_MS, undefined, { ref: false })]),
  );
  const admin = await context.openAdminPort({ notReady: () => [] });
  log.info({ admin }, 'retention is running');
}
