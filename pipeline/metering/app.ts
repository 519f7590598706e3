import type { ClickHouseClient } from '@clickhouse/client';
import kafkajs, { type Admin } from 'kafkajs';
import { quotaMonth } from '../../events/tehran-time.ts';
import type { AdminPage } from '../../platform/admin-server.ts';
import { startPartitionConsumer, type PartitionConsumer } from '../../platform/kafka/consumer.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { readReconciliation } from '../../platform/meters/read-reconciliation.ts';
import { foldOldMinutes } from './fold-minutes.ts';
import { bookLosses, CountedSince, openLoss } from './book-losses.ts';
import { reconcile } from './reconcile.ts';
import type { MeteringConfig } from './config.ts';
import { takeSnapshot } from './snapshot.ts';
import { everyInterval } from './every-interval.ts';
import { announce, meterProfiles } from './meters.ts';
import { evolve, UNKNOWN } from './high-watermark.ts';
import { COUNTED_TOPICS, startCounting } from './counting-task.ts';
import { watchedMonths } from './watched-months.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { METERING_READER, meteringGroup } from '../../schemas/topology.ts';

interface MeteringOptions extends Pick<
  ServiceContext<MeteringConfig>,
  'config' | 'log' | 'registry' | 'signal' | 'crash'
> {
  database: Database;
  warehouse: ClickHouseClient;
  /** A connected admin client; reconnects after a failure. */
  admin: () => Promise<Admin>;
}

export interface Metering {
  notReady: () => string[];
  pages: Record<string, AdminPage>;
  close(): Promise<void>;
}

/** Minutes that are reconciled at once. */
const MAX_MINUTES = 5000;
/** The books are reconciled this often while nothing is counted, ms. */
const AT_REST_INTERVAL = 24_000;
/** Statements that fold old minutes in one interval. */
const FOLD_TURNS = 40;

/** Counts events from the topics, meters usage, and reconciles the counts with the stored rows. */
export async function startMetering(options: MeteringOptions): Promise<Metering> {
  const { config, log, database, warehouse, registry, signal } = options;
  const metrics = metricsOf(registry);
  const gap = metrics.gauge(
    'ravand_books_gap',
    'Published events that the normaliser and the sink have processed and that are neither stored nor dead (negative: stored more than once). Must be 0.',
  );
  const inFlight = metrics.gauge(
    'ravand_books_in_flight',
    'Published events that are not stored yet.',
  );
  const counts = metrics.gauge(
    'ravand_books_events',
    'Reconciliation counts of all accounts (G6), without events in spools: received, published, duplicate, rejected, stored, dead, lost.',
    'count',
  );
  const watermarkSeconds = metrics.gauge(
    'ravand_settled_until_seconds',
    'Every event appended before this time is stored or dead (Unix time).',
  );
  const rawStarts = metrics.gauge(
    'ravand_raw_first_offset',
    'The first offset that events.raw still holds. Must not rise while RAW_RETENTION is 0.',
    'partition',
  );
  metrics
    .gauge(
      'ravand_raw_retention_seconds',
      'RAW_RETENTION: how long events.raw is kept; 0: for ever.',
    )
    .set(config.RAW_RETENTION / 1000);

  /** The books were found balanced, and nothing was counted since. */
  let isAtRest = false;
  let counted = 0;
  // Others change the books, too: retention and erasures, commands, other processes.
  const isEarly = (last: number) => isAtRest && performance.now() - last < AT_REST_INTERVAL;
  const consumers: PartitionConsumer[] = await Promise.all(
    Object.keys(COUNTED_TOPICS).map((topic) =>
      startPartitionConsumer({
        settings: config,
        log,
        groupId: meteringGroup(topic),
        clientId: `ravand-${METERING_READER}`,
        instanceId: config.KAFKA_INSTANCE_ID,
        topic,
        evidence: { database, before: 'process' },
        valuesUntil: 'processed',
        batch: { records: 5000, bytes: 16 * 1024 * 1024, linger: 1000 },
        assigned: (partition, _committed, fenced) =>
          startCounting({
            database,
            log,
            topic,
            partition,
            monthOf: (at) => quotaMonth(at).key,
            signal: AbortSignal.any([signal, fenced]),
            counted() {
              counted++;
              isAtRest = false;
            },
          }),
        crash: options.crash,
        registry,
      }),
    ),
  );

  let watermark = UNKNOWN;
  let [watermarkAt, reconciledAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const countedSince = new CountedSince();
  const every = (name: string, ms: number | (() => number), work: () => Promise<void>) =>
    everyInterval({ name, ms, log, signal }, work);
  const loops = [
    // It matters while minutes are open only.
    every(
      'high watermark',
      () => (isAtRest ? config.BOOKS_INTERVAL : 1000),
      async () => {
        if (isEarly(watermarkAt)) return;
        const snapshot = await takeSnapshot(await options.admin(), Date.now());
        watermark = evolve(watermark, snapshot);
        for (const [partition, offset] of snapshot.rawStarts) rawStarts.set({ partition }, offset);
        watermarkSeconds.set(watermark.until / 1000);
        watermarkAt = performance.now();
      },
    ),
    every('reconciliation', config.BOOKS_INTERVAL, async () => {
      if (isEarly(reconciledAt)) return;
      const before = counted;
      const found = await reconcile({
        database,
        warehouse,
        processedUntil: watermark.until - MARGIN,
        limit: MAX_MINUTES,
      });
      let unexplained = found.gap;
      if (found.gaps.length > 0 || found.compared < MAX_MINUTES) {
        const loss = await openLoss(database);
        const isCounted =
          loss !== undefined &&
          watermark.until - MARGIN > loss.finishedAt &&
          (await countedSince.isReached(await options.admin(), database, loss));
        if (isCounted) {
          const gaps = found.gaps.filter(({ start }) => start <= loss.startedAt);
          const isLast =
            found.compared < MAX_MINUTES &&
            (found.oldestInFlight === undefined || found.oldestInFlight > loss.startedAt);
          await bookLosses(database, { loss, gaps, isLast });
          const lost = gaps.reduce((sum, one) => sum + one.gap, 0);
          unexplained -= lost;
          if (isLast || lost !== 0)
            log.warn(
              { code: 'events_lost', advance: loss.id, events: lost },
              'events that the log lost before they were stored are in the books as lost',
            );
        }
      }
      isAtRest = found.compared === 0 && counted === before;
      gap.set(unexplained);
      inFlight.set(found.inFlight);
      const { received, published, duplicate, rejected, stored, dead, lost } =
        await readReconciliation(database, { spooled: 0 });
      for (const [count, events] of Object.entries({
        received,
        published,
        duplicate,
        rejected,
        stored,
        dead,
        lost,
      }))
        counts.set({ count }, events);
      reconciledAt = performance.now();
      if (unexplained !== 0)
        log.error(
          { code: 'books_gap', gap: unexplained },
          'the books do not balance: check ./ravand status and ./ravand lag',
        );
    }),
    every('old minutes', 60_000, async () => {
      for (let turn = 0; turn < FOLD_TURNS && !signal.aborted; turn++)
        if ((await foldOldMinutes(database)) === 0) return;
    }),
    every('profiles', config.PROFILES_METER_INTERVAL, async () => {
      for (const month of watchedMonths(Date.now()))
        await meterProfiles(database, warehouse, month);
    }),
    every('announcements', 15_000, async () => {
      let written = 0;
      for (const month of watchedMonths(Date.now())) written += await announce(database, month);
      if (written > 0)
        log.info({ announcements: written }, 'recorded announcements of used allowances');
    }),
  ];

  return {
    notReady: () => [...new Set(consumers.flatMap((consumer) => consumer.problems()))],
    pages: {
      '/books': async (query) => {
        const account = query.get('account');
        const books = await readReconciliation(database, {
          ...(account === null ? {} : { accountId: Number(account) }),
          spooled: 0,
        });
        return { contentType: 'application/json', body: JSON.stringify(books) };
      },
    },
    async close() {
      await Promise.all(consumers.map((consumer) => consumer.close()));
      await Promise.allSettled(loops);
    },
  };
}

/** Clock tolerance between PostgreSQL and us, ms: newer differences are no gap. */
const MARGIN = 5000;

/** Starts the service: clients, counting, admin port. */
export async function start(context: ServiceContext<MeteringConfig>): Promise<void> {
  const { config, log, registry, signal, crash, onShutdown } = context;
  const name = 'ravand-metering';
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
    max: 3,
  });
  const warehouse = connectClickhouse({ settings: config, name });
  const kafka = kafkaAdmin(config, name);
  onShutdown('connections', async () => {
    await Promise.allSettled([database.end(), warehouse.close(), kafka.close()]);
  });
  const metering = await startMetering({
    ...{ config, log, database, warehouse, registry, signal, crash },
    admin: kafka.connected,
  });
  const { notReady, pages } = metering;
  const admin = await context.openAdminPort({ notReady, pages });
  onShutdown('counting', () => metering.close());
  log.info({ admin }, 'counting');
}

/** One Kafka admin connection, opened at its first use and again after it was lost. */
function kafkaAdmin(config: MeteringConfig, name: string) {
  let admin: Promise<Admin> | undefined;
  const connect = async () => {
    const client = new kafkajs.Kafka(kafkajsConnection(config, name)).admin();
    client.on('admin.disconnect', () => (admin = undefined));
    await client.connect();
    return client;
  };
  return {
    connected: () =>
      (admin ??= connect().catch((error: unknown) => {
        admin = undefined;
        throw error;
      })),
    close: async () => (await admin)?.disconnect(),
  };
}
