import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import type { Redis } from 'ioredis';
import { ContextReader } from '../../events/normalise.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import { ClaimStore } from '../../platform/claims/claim-store.ts';
import { Sweeper } from '../../platform/claims/sweeper.ts';
import { startPartitionConsumer, type PartitionConsumer } from '../../platform/kafka/consumer.ts';
import type { LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { judge, EMPTY_WINDOW } from '../../platform/dead-letter-breaker.ts';
import { CURRENT_EPOCH } from '../../schemas/log-position.ts';
import { NAMES, type Config, type Names } from './config.ts';
import { ClaimsGate } from './claims-gate.ts';
import { logEnds } from './log-ends.ts';
import { NormaliserMetrics } from './metrics.ts';
import { Publisher } from './publisher.ts';
import { NormaliserTask, type NormaliserDeps } from './partition-task.ts';
import { sweepProgress, type KnownEnds } from './sweep-progress.ts';
import { Reasons } from './reasons.ts';
import { backfillClaims } from './backfill-claims.ts';
import { RowBatchBuilder } from './row-batch-builder.ts';
import { readStoredClaims } from './stored-window.ts';
import { Semaphore } from './semaphore.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { connectClaims } from '../../platform/claims/connect.ts';
import {
  connectNormaliserProducer,
  countPartitions,
  IN_FLIGHT_BYTES,
  watchEnds,
} from './connect.ts';

/** Connections and facts that the normaliser is given. */
export interface NormaliserOptions {
  config: Config;
  names: Names;
  log: Log;
  redis: Redis;
  clickhouse: ClickHouseClient;
  producer: LogProducer;
  metrics: NormaliserMetrics;
  reasons: Reasons;
  /** Partitions of events.raw and events.normalised, and of events.dead. */
  partitions: { events: number; dead: number };
  /** Ends of events.raw as last asked for. */
  knownEnds: () => KnownEnds | undefined;
  /** Aborted when the process ends. */
  stopping: AbortSignal;
  /** Ends the process; the supervisor starts it again, from what was committed. */
  crash: (error: unknown) => void;
}

export interface Normaliser {
  /** Kafka answers, and the group has this process as a member. */
  connected(): boolean;
  close(): Promise<void>;
}

/** Partitions that work at the same time; more wait their turn. */
const AT_ONCE = 4;
const RUN = { rows: 1000, bytes: 1024 * 1024, rowBytes: 15 * 1024 * 1024 };
const REMEMBERED_USER_AGENTS = 10_000;
/** Events after which the breaker's memory of earlier ones is halved. */
const BREAKER_WINDOW_EVENTS = 10_000;

/** Assembles the normaliser and starts it: consumer, claims, refill, sweeper. */
export async function startNormaliser(parts: NormaliserOptions): Promise<Normaliser> {
  const { config, names, log, metrics, reasons, stopping, crash } = parts;
  const tasks = new Map<number, NormaliserTask>();
  const claims = new ClaimStore({
    redis: parts.redis,
    prefix: names.claims,
    dedupeTtl: config.DEDUPE_TTL,
    onWaiting: (error) => reasons.set('claims', `waiting for the claims: ${error.message}`),
  });
  const gate = new ClaimsGate({
    fill: () => fillClaims({ ...parts, claims, owned: () => [...tasks.keys()] }),
    failed: (error) => {
      if (!stopping.aborted) crash(error);
    },
  });
  const shop = workshop({ parts, claims, gate });
  const consumer: PartitionConsumer = await startPartitionConsumer({
    settings: config,
    log,
    groupId: names.group,
    clientId: 'ravand-normaliser',
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: names.raw,
    batch: {
      records: config.NORMALISER_BATCH_RECORDS,
      bytes: config.NORMALISER_BATCH_BYTES,
      linger: config.NORMALISER_LINGER,
      interval: config.NORMALISER_INTERVAL,
    },
    registry: metrics.registry,
    crash,
    assigned: (partition, committed, fenced) => {
      const released = () => {
        if (tasks.get(partition) === task) tasks.delete(partition);
      };
      const task = new NormaliserTask({
        partition,
        committed,
        deps: shop,
        fenced,
        stopping,
        released,
      });
      tasks.set(partition, task);
      return Promise.resolve(task);
    },
  });
  const sweeper = new Sweeper({
    store: claims,
    dedupeTtl: config.DEDUPE_TTL,
    partitions: parts.partitions.events,
    progress: () =>
      sweepProgress(
        CURRENT_EPOCH,
        [...tasks].map(([partition, task]) => ({ partition, ...task.position })),
        parts.knownEnds(),
      ),
    onLost: () => gate.claimsLost(),
    onError: (error) =>
      log.debug({ err: error }, 'the sweep of claims failed; it goes on in a second'),
  });
  gate.start();
  sweeper.start();
  return {
    connected: () => consumer.connected(),
    async close() {
      await consumer.close();
      await sweeper.stop();
    },
  };
}

function workshop({
  parts,
  claims,
  gate,
}: {
  parts: NormaliserOptions;
  claims: ClaimStore;
  gate: ClaimsGate;
}): NormaliserDeps {
  const { config, log, metrics, reasons } = parts;
  const limits = {
    minDead: config.DEAD_LETTER_BREAKER_LEAST,
    maxDeadShare: config.DEAD_LETTER_BREAKER / 100,
    windowEvents: BREAKER_WINDOW_EVENTS,
  };
  let lately = EMPTY_WINDOW;
  return {
    epoch: CURRENT_EPOCH,
    claims: {
      async settle(entries, signal) {
        const settled = await claims.resolve(entries, signal);
        reasons.clear('claims');
        return settled;
      },
    },
    gate,
    semaphore: new Semaphore(AT_ONCE),
    publisher: new Publisher(parts.producer, IN_FLIGHT_BYTES),
    rowBatches: new RowBatchBuilder(RUN),
    contexts: new ContextReader(new UserAgentCache(REMEMBERED_USER_AGENTS)),
    names: parts.names,
    deadLetterPartitions: parts.partitions.dead,
    retryAfter: config.DEAD_LETTER_BREAKER_RETRY,
    now: Date.now,
    judgeChunk: (part) => {
      const verdict = judge(lately, part, limits);
      if (verdict.verdict === 'pass') lately = verdict.state;
      return verdict;
    },
    published: (partition, part) => {
      metrics.count(part);
      const [first] = part.deadLetters;
      if (!first) return;
      const { reason, offset, index, account_id: account } = first;
      const facts = {
        code: 'dead_letter',
        letters: part.deadLetters.length,
        partition,
        reason,
        offset,
        index,
        account,
      };
      log.warn(
        facts,
        'events that could not be normalised went to events.dead; the reason and position are those of the first one',
      );
    },
    heldBack: (partition, share) => {
      if (share === undefined) {
        reasons.clear(`breaker ${partition}`);
        metrics.breaker.dec();
        return;
      }
      const sentence =
        `${Math.round(share * 100)}% of the events of partition ${partition} would end as dead letters: nothing more of it is processed. ` +
        'Look for a faulty release of a gateway or of this part; DEAD_LETTER_BREAKER=100 sends them all to events.dead';
      reasons.set(`breaker ${partition}`, sentence);
      metrics.breaker.inc();
      log.error(
        { code: 'dead_letter_breaker', partition, retry_ms: config.DEAD_LETTER_BREAKER_RETRY },
        sentence,
      );
    },
  };
}

/**
 * Returns when Redis holds the claims of the window, filled by this process or by another one.
 * Rejects only when the process ends.
 */
async function fillClaims(
  options: NormaliserOptions & { claims: ClaimStore; owned: () => number[] },
): Promise<void> {
  const { config, log, metrics, reasons, clickhouse } = options;
  const attempt = randomUUID();
  metrics.filled.set(0);
  log.info({ attempt }, 'looking whether Redis holds the claims of the window');
  await options.claims.ensureLoaded({
    signal: options.stopping,
    partitions: () => ({ epoch: CURRENT_EPOCH, owned: options.owned() }),
    backfill: async (target) => {
      log.warn(
        { code: 'claims_lost', attempt },
        'Redis does not hold the claims of the window: filling them from the stored events',
      );
      const loaded = await backfillClaims(target, {
        epoch: CURRENT_EPOCH,
        partitions: options.partitions.events,
        dedupeTtl: config.DEDUPE_TTL,
        ends: logEnds(config, options.names),
        read: (span, signal, onChunk) => readStoredClaims({ clickhouse, span, signal, onChunk }),
        now: Date.now,
        waiting: (sentence) => reasons.set('refill', sentence),
      });
      metrics.refilled.inc(loaded);
      log.info({ attempt, loaded }, 'the claims are filled');
    },
  });
  reasons.clear('refill');
  reasons.clear('claims');
  metrics.filled.set(1);
  log.info({ attempt }, 'the claims of the window are in Redis');
}

/** The service: the admin port, its clients and the normaliser. Kafka is waited for. */
export async function start(context: ServiceContext<Config>): Promise<void> {
  const { config, log, signal, crash, onShutdown } = context;
  const metrics = new NormaliserMetrics();
  const reasons = new Reasons();
  reasons.set('start', 'starting: waiting for Kafka and its topics');
  const redis = connectClaims({
    url: config.REDIS_URL,
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
    ...(running.normaliser?.connected() === false
      ? ['no Kafka broker answers (KAFKA_BROKERS): waiting for one']
      : []),
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

  const connecting = { config, names: NAMES, log, signal };
  const partitions = await countPartitions(connecting);
  const producer = await connectNormaliserProducer(connecting);
  onShutdown('producer', () => producer.close(5000));
  const normaliser = await startNormaliser({
    ...{ config, names: NAMES, log, redis, clickhouse, producer, metrics, reasons, partitions },
    ...{ knownEnds: watchEnds(connecting), stopping: signal, crash },
  });
  onShutdown('normaliser', () => normaliser.close());
  running.normaliser = normaliser;
  reasons.clear('start');
  log.info({ partitions: partitions.events }, 'started');
}

/** The client reconnects by itself: one line when Redis becomes unreachable is enough. */
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
