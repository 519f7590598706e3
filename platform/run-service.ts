import { Registry } from 'prom-client';
import type { ClickhouseSettings } from './clickhouse/client.ts';
import { startAdminServer, type AdminPages } from './admin-server.ts';
import type { KafkaSettings } from './kafka/connection.ts';
import { readTopicNamesFrom } from './kafka/topic-names.ts';
import { startLifecycle, type Lifecycle } from './lifecycle.ts';
import { createLog, type Log } from './log.ts';
import { errorText } from './redaction/redact-text.ts';
import { retryUntilAborted } from './retry-until-aborted.ts';
import { certificateFiles, watchCertificates } from './network/certificate-expiry.ts';
import type { Address } from './setting-kinds.ts';
import type { postgresSettings, processSettings } from './settings-common.ts';
import { exposeSpanCounts } from './tracing/span-counts.ts';
import { setTracing } from './tracing/spans.ts';
import { parseSettings, SettingsError, type SettingsOf, type SettingsTable } from './settings.ts';

type ProcessSettings = SettingsOf<typeof processSettings>;
type PostgresSettings = SettingsOf<typeof postgresSettings>;

/** What the assembly of a service gets. */
export interface ServiceContext<Config> extends Lifecycle {
  config: Config;
  log: Log;
  registry: Registry;
  /**
   * Opens the admin port at ADMIN_ADDR and returns its address. Closing it is one of the
   * shutdown steps.
   */
  openAdminPort: (options: {
    notReady: () => string[];
    pages?: AdminPages;
    /** Instead of the registry of the context. */
    registry?: Registry;
  }) => Promise<Address>;
}

interface Service<Table extends SettingsTable> {
  name: string;
  settings: Table;
  /** What is wrong with settings together; the service does not start. */
  problemsOf?: (config: SettingsOf<Table>) => string[];
  /** It takes the names of topics from the layout while it runs. */
  followsLayout?: boolean;
  /** Assembles the service and starts it; registers its shutdown steps on the context. */
  start: (context: ServiceContext<SettingsOf<Table>>) => Promise<void>;
}

/**
 * Runs a service as this process: reads its settings, starts it, and ends it in order on SIGTERM.
 * Exit code 2: a setting cannot be read. Exit code 1: the start failed, or the service crashed.
 */
export async function runService<Table extends typeof processSettings & SettingsTable>({
  name,
  settings,
  problemsOf,
  followsLayout = false,
  start,
}: Service<Table>): Promise<void> {
  let config: SettingsOf<Table>;
  try {
    config = parseSettings(settings, process.env);
    const problems = problemsOf?.(config) ?? [];
    if (problems.length > 0) throw new SettingsError(problems);
  } catch (error) {
    process.stderr.write(`${name} cannot start: ${errorText(error)}\n`);
    process.exit(error instanceof SettingsError ? 2 : 1);
  }
  const { LOG_LEVEL, SHUTDOWN_TIMEOUT, ADMIN_ADDR } = config as unknown as ProcessSettings;
  const log = createLog({ part: name, level: LOG_LEVEL });
  const lifecycle = startLifecycle({ log, timeout: SHUTDOWN_TIMEOUT });
  const context: ServiceContext<SettingsOf<Table>> = {
    ...lifecycle,
    config,
    log,
    registry: new Registry(),
    async openAdminPort(options) {
      const registry = options.registry ?? context.registry;
      watchCertificates(registry, certificateFiles(config));
      exposeSpanCounts(registry);
      const admin = await startAdminServer({
        address: ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
        registry: context.registry,
        ...options,
      });
      lifecycle.onShutdown('admin port', () => admin.close());
      return admin.address;
    },
  };
  await startTracing(context, name);
  await useRecordedTopicNames(context, followsLayout);
  void refuseOtherShards(context);
  try {
    await start(context);
  } catch (error) {
    // SIGTERM while the start waits for a server: the shutdown is in progress.
    if (lifecycle.signal.aborted) return;
    process.stderr.write(`${name} cannot start: ${errorText(error)}\n`);
    lifecycle.crash(error);
  }
}

type WatchContext = Pick<ServiceContext<unknown>, 'config' | 'log' | 'signal' | 'crash'>;

/** A service that uses Kafka takes the names of the topics from PostgreSQL. */
async function useRecordedTopicNames(
  { config, log, signal, crash }: WatchContext,
  isFollowing: boolean,
): Promise<void> {
  const { KAFKA_BROKERS, DATABASE_URL } = config as Partial<KafkaSettings & PostgresSettings>;
  if (!KAFKA_BROKERS || !DATABASE_URL) return;
  // Loaded here: other services do not need the client.
  const names = await import('./log/topic-names.ts');
  const read = isFollowing ? names.topicNamesOf : names.steadyTopicNames;
  readTopicNamesFrom(() =>
    retryUntilAborted({ log, signal, code: 'waiting', what: 'reading the layout of the log' }, () =>
      read({ url: DATABASE_URL, log, signal }),
    ),
  );
  names
    .untilTopicsReplaced({ url: DATABASE_URL, log, signal, isFollowing })
    .catch((error: unknown) => {
      if (!signal.aborted) crash(error);
    });
}

/** Traces, where a collector of them is set. */
async function startTracing(
  { config, log, onShutdown }: ServiceContext<unknown>,
  service: string,
): Promise<void> {
  const settings = config as ProcessSettings;
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  // Absent in tables of settings that are not those of a whole process.
  if (!endpoint) return;
  // Loaded here: without traces they cost nothing.
  const { openTelemetry } = await import('./tracing/open-telemetry.ts');
  const { tracing, close } = openTelemetry({
    ...{ service, endpoint, log },
    headers: settings.OTEL_EXPORTER_OTLP_HEADERS,
    percent: settings.TRACES_SAMPLED_PERCENT,
    perSecond: settings.TRACES_PER_SECOND,
  });
  setTracing(tracing);
  onShutdown('traces', close);
}

/** A service that uses ClickHouse ends when its servers are not the shards that it expects. */
async function refuseOtherShards({ config, log, signal, crash }: WatchContext): Promise<void> {
  const settings = config as ClickhouseSettings;
  if (!settings.CLICKHOUSE_CLUSTER && !settings.CLICKHOUSE_SHARDS) return;
  // Loaded here: other services do not need the client.
  const { watchShards } = await import('./clickhouse/one-shard.ts');
  await watchShards({ settings, log, signal }).catch((error: unknown) => {
    if (!signal.aborted) crash(error);
  });
}
