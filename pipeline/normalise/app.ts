import { randomUUID } from 'node:crypto';
import { ClaimStore } from '../../platform/claims/claim-store.ts';
import { Sweeper } from '../../platform/claims/sweeper.ts';
import { startPartitionConsumer, type PartitionConsumer } from '../../platform/kafka/consumer.ts';
import type { Log } from '../../platform/log.ts';
import type { EpochOf } from '../../events/raw/record-claims.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { readLayout, recordedLayout } from '../../platform/log/layout.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { NAMES, type Config } from './config.ts';
import { ClaimsGate } from './claims-gate.ts';
import { logEnds } from './log-ends.ts';
import { KnownLayout } from './log-layout.ts';
import { NormaliserMetrics } from './metrics.ts';
import { normaliserDeps, type NormaliserOptions } from './task-deps.ts';
import { NormaliserTask } from './partition-task.ts';
import { StoredOffsets } from './stored-offsets.ts';
import { sweepProgress } from './sweep-progress.ts';
import { Reasons } from './reasons.ts';
import { backfillClaims } from './backfill-claims.ts';
import { RangeReader } from '../../platform/kafka/read-range.ts';
import { readLoggedClaims, readStoredClaims } from './stored-claims.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { NEWEST_WRITTEN, watchWritten } from '../../platform/log/written-schemas.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { connectClaims } from '../../platform/claims/connect.ts';
import { connectNormaliserProducer, countPartitions, watchEnds } from './connect.ts';

/** `NORMALISER_INTERVAL` does not grow further with the partitions of a process, ms. */
const MAX_INTERVAL_MS = 400;

export interface Normaliser {
  /** Why it normalises nothing, or not every partition, one sentence each. */
  problems(): string[];
  close(): Promise<void>;
}

/**
 * Names the partitions in the bookkeeping of claims. Epochs of the log do not change it: the claims
 * are removed when the log goes back (ops/log/), and positions carry their own epoch.
 */
const CLAIMS_EPOCH = 0;

/** Starts the normaliser: consumer, claims, backfill, sweeper. */
export async function startNormaliser(options: NormaliserOptions): Promise<Normaliser> {
  const { config, names, log, metrics, reasons, stopping, crash } = options;
  const tasks = new Map<number, NormaliserTask>();
  const claims = new ClaimStore({
    redis: options.redis,
    prefix: names.claims,
    dedupeTtl: config.DEDUPE_TTL,
    packAfter: () =>
      config.DEDUPE_PACK_AFTER > 0 && options.packs() ? config.DEDUPE_PACK_AFTER : undefined,
    onWaiting: (error) => reasons.set('claims', `waiting for the claims: ${error.message}`),
  });
  const storedOffsets = new StoredOffsets(logEnds(config, names));
  const gate = new ClaimsGate({
    load: () => {
      storedOffsets.forget();
      return loadClaims({ ...options, claims, owned: () => [...tasks.keys()] });
    },
    failed: (error) => {
      if (!stopping.aborted) crash(error);
    },
  });
  const deps = normaliserDeps(options, {
    ...{ claims, gate },
    appended: (of) => consumer.guard?.appended(of),
  });
  const consumer: PartitionConsumer = await startPartitionConsumer({
    settings: config,
    log,
    groupId: names.group,
    clientId: 'ravand-normaliser',
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: names.raw,
    partitions: options.partitions.events,
    valuesUntil: 'committed',
    evidence: {
      database: options.database,
      before: 'commit',
      writes: (partition) => [
        { topic: names.normalised, partition },
        { topic: names.verdicts, partition },
        { topic: names.dead, partition: partition % options.partitions.dead },
      ],
    },
    batch: {
      records: config.NORMALISER_BATCH_RECORDS,
      bytes: config.NORMALISER_BATCH_BYTES,
      linger: config.NORMALISER_LINGER,
      interval: config.NORMALISER_INTERVAL,
      maxInterval: MAX_INTERVAL_MS,
    },
    registry: metrics.registry,
    crash,
    assigned: async (partition, committed, fenced) => {
      const { epochOf, placement } = options.layout
        ? await options.layout.open(partition, fenced)
        : await epochsWithoutLayout(options, fenced);
      const released = () => {
        if (tasks.get(partition) === task) tasks.delete(partition);
      };
      const task = new NormaliserTask({
        partition,
        committed,
        epochOf,
        placement,
        deps,
        fenced,
        stopping,
        released,
      });
      tasks.set(partition, task);
      return task;
    },
  });
  const sweeper = new Sweeper({
    store: claims,
    dedupeTtl: config.DEDUPE_TTL,
    get partitions() {
      return options.partitions.events;
    },
    progress: () =>
      sweepProgress(
        CLAIMS_EPOCH,
        [...tasks].map(([partition, task]) => ({ partition, ...task.position })),
        options.knownEnds(),
        storedOffsets.stored,
      ),
    onSwept: ({ packed }) => metrics.packedClaims.inc(packed),
    onLost: () => gate.claimsLost(),
    onError: (error) =>
      log.debug({ err: error }, 'the sweep of claims failed; retrying in a second'),
  });
  gate.start();
  sweeper.start();
  void storedOffsets.follow({ packAfter: config.DEDUPE_PACK_AFTER, log, stopping });
  return {
    problems: () => consumer.problems(),
    async close() {
      await consumer.close();
      await sweeper.stop();
    },
  };
}

async function epochsWithoutLayout(
  { log, database, names }: NormaliserOptions,
  signal: AbortSignal,
): Promise<{ epochOf: EpochOf; placement: undefined }> {
  const epochs = await retryUntilAborted(
    { log, signal, code: 'postgres_unreachable', what: 'reading the epochs of the log' },
    () => readEpochs(database, names.raw),
  );
  return { epochOf: (of, offset) => epochs.at(of, offset), placement: undefined };
}

/** Returns when Redis holds the window's claims. Rejects only when the process stops. */
async function loadClaims(
  options: NormaliserOptions & { claims: ClaimStore; owned: () => number[] },
): Promise<void> {
  const { config, log, metrics, reasons, clickhouse } = options;
  const attempt = randomUUID();
  metrics.claimsLoaded.set(0);
  log.info({ attempt }, 'checking whether Redis holds the claims of the window');
  await options.claims.ensureLoaded({
    signal: options.stopping,
    partitions: () => ({ epoch: CLAIMS_EPOCH, owned: options.owned() }),
    backfill: async (target) => {
      log.warn(
        { code: 'claims_lost', attempt },
        'Redis does not hold all claims of the window: loading those that it lost',
      );
      const reader = new RangeReader({ settings: config, clientId: 'ravand-normaliser-backfill' });
      const { loaded, from } = await backfillClaims(target, {
        epoch: CLAIMS_EPOCH,
        partitions: options.partitions.events,
        dedupeTtl: config.DEDUPE_TTL,
        ends: logEnds(config, options.names),
        read: (span, signal, onChunk) => readStoredClaims({ clickhouse, span, signal, onChunk }),
        readLog: (range, signal, onChunk) => {
          const topic = options.names.normalised;
          return readLoggedClaims({ reader, range: { topic, ...range }, signal, onChunk });
        },
        now: Date.now,
        waiting: (sentence) => reasons.set('backfill', sentence),
      }).finally(() => reader.close());
      metrics.backfilledClaims.inc({ from }, loaded);
      log.info({ attempt, loaded, from }, 'the claims are loaded');
    },
  });
  reasons.clear('backfill');
  reasons.clear('claims');
  metrics.claimsLoaded.set(1);
  log.info({ attempt }, 'the claims of the window are in Redis');
}

/** Starts the service: admin port, clients, normaliser. Waits for Kafka. */
export async function start(context: ServiceContext<Config>): Promise<void> {
  const { config, log, signal, crash, onShutdown } = context;
  const metrics = new NormaliserMetrics();
  const reasons = new Reasons();
  reasons.set('start', 'starting: waiting for Kafka and its topics');
  const redis = connectClaims({
    settings: config,
    role: 'normaliser',
    onError: warnOnceAMinute(log),
  });
  onShutdown('redis', () => {
    redis.disconnect();
    return Promise.resolve();
  });
  const running: { normaliser?: Normaliser } = {};
  const notReady = () => [
    ...reasons.list(),
    ...(redis.status === 'ready' ? [] : ['Redis (REDIS_URL) is not reachable: waiting for it']),
    ...(running.normaliser?.problems() ?? []),
  ];
  const admin = await context.openAdminPort({ notReady, registry: metrics.registry });
  log.info({ admin }, 'admin port is open');
  const clickhouse = connectClickhouse({
    settings: config,
    name: 'ravand-normaliser',
    requestTimeout: 60_000,
    connections: 2,
  });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: 'ravand-normaliser',
  });
  onShutdown('postgres', () => database.end());

  const connecting = { config, names: NAMES, log, signal };
  const counted = await countPartitions({
    ...connecting,
    layout: await retryUntilAborted(
      { log, signal, code: 'postgres_unreachable', what: 'reading the layout of the log' },
      () => readLayout(database),
    ),
  });
  const producer = await connectNormaliserProducer(connecting);
  onShutdown('producer', () => producer.close(5000));
  const layout = new KnownLayout({
    ...{ database, producer, names: NAMES, log, reasons, signal },
    layout: await recordedLayout(database, { partitions: counted.events }),
    onMismatch: (is) => metrics.layoutMismatch.set(Number(is)),
  });
  const partitions = {
    dead: counted.dead,
    get events() {
      return layout.partitions;
    },
  };
  const normaliser = await startNormaliser({
    ...{ config, names: NAMES, log, redis, clickhouse, database, producer, metrics },
    ...{ reasons, partitions, layout, stopping: signal, crash },
    knownEnds: watchEnds({ ...connecting, producer, partitions: () => layout.partitions }),
    writtenRows: watchWritten('event-row', { database, log, signal }),
    packs: writesPacks({ database, log, signal }),
  });
  onShutdown('normaliser', () => normaliser.close());
  running.normaliser = normaliser;
  reasons.clear('start');
  log.info({ partitions: partitions.events }, 'started');
}

/** Whether no release that does not know packs can be started any more. */
function writesPacks(options: Parameters<typeof watchWritten>[1]): () => boolean {
  const version = watchWritten('claims', options);
  return () => version() >= NEWEST_WRITTEN.claims;
}

/** The client reconnects automatically: one line when Redis becomes unreachable is enough. */
function warnOnceAMinute(log: Log): (error: Error) => void {
  let last = 0;
  return (error) => {
    const now = Date.now();
    if (now - last > 60_000)
      log.warn(
        { err: error, code: 'redis_unreachable' },
        'Redis is not reachable: the normaliser waits for it',
      );
    last = now;
  };
}
