import { connectClaims } from '../../platform/claims/connect.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startAdminServer } from '../../platform/admin-server.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { SettingsError } from '../../platform/settings.ts';
import { startNormaliser, type Normaliser } from './app.ts';
import { loadConfig, NAMES, type Config } from './config.ts';
import { connectNormaliserProducer, countPartitions, watchEnds } from './connect.ts';
import { NormaliserMetrics } from './metrics.ts';
import { Reasons } from './reasons.ts';

async function main(config: Config): Promise<void> {
  const log = createLog({ part: 'normaliser', level: config.LOG_LEVEL });
  const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
  const { signal, crash, onShutdown } = lifecycle;
  const metrics = new NormaliserMetrics();
  const reasons = new Reasons();
  reasons.set('start', 'starting: waiting for Kafka and its topics');

  const redis = connectClaims({
    url: config.REDIS_URL,
    role: 'normaliser',
    onError: redisTrouble(log),
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
  const admin = await startAdminServer({
    address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
    registry: metrics.registry,
    notReady,
  });
  onShutdown('admin', () => admin.close());
  log.info({ admin: admin.address }, 'admin port is open');
  const clickhouse = connectClickhouse({
    settings: config,
    name: 'ravand-normaliser',
    requestTimeout: 60_000,
    connections: 2,
  });
  onShutdown('clickhouse', () => clickhouse.close());

  const circumstances = { config, names: NAMES, log, signal };
  try {
    const partitions = await countPartitions(circumstances);
    const producer = await connectNormaliserProducer(circumstances);
    onShutdown('producer', () => producer.close(5000));
    const knownEnds = watchEnds(circumstances);
    const normaliser = await startNormaliser({
      ...{
        config,
        names: NAMES,
        log,
        redis,
        clickhouse,
        producer,
        metrics,
        reasons,
        partitions,
        knownEnds,
      },
      ...{ stopping: signal, crash },
    });
    onShutdown('normaliser', () => normaliser.close());
    running.normaliser = normaliser;
    reasons.clear('start');
    log.info({ partitions: partitions.events }, 'started');
  } catch (error) {
    // Told to stop while it waited for Kafka: the shutdown is under way.
    if (!signal.aborted) throw error;
  }
}

/** One line when it goes away; the client goes on trying. */
function redisTrouble(log: ReturnType<typeof createLog>): (error: Error) => void {
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

try {
  await main(loadConfig(process.env));
} catch (error) {
  const isSettings = error instanceof SettingsError;
  process.stderr.write(
    `normaliser cannot start: ${isSettings ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(isSettings ? 2 : 1);
}
