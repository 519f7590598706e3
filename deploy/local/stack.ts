import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstServer, splitHosts } from '../../platform/split-hosts.ts';
import { readTlsFiles, tlsPaths, type TlsFiles } from '../../platform/tls-files.ts';
import { withValues } from '../../platform/settings.ts';
import { formatAddress, splitList, type Address } from '../../platform/setting-kinds.ts';
import { clickhouseMemory, loadConfig } from './config.ts';
import { containerLaunches } from './containers.ts';
import type { Home } from '../../cli/stack/home.ts';
import { prepareClickhouse } from './services/clickhouse.ts';
import { BROKER_NAMES, brokerName, ownBrokers } from './services/brokers.ts';
import { LOCAL_SHARDS, ownShards, shardName } from './services/shards.ts';
import { minInsyncReplicas, prepareKafka } from './services/kafka.ts';
import {
  serverSettings,
  type Launch,
  type ServerLaunches,
  type Service,
  type Step,
} from './services/service.ts';
import { preparePostgres } from './services/postgres.ts';
import { prepareRedis } from './services/redis.ts';
import { nodeService } from './services/node-service.ts';
import { setupSteps } from './services/setup-steps.ts';
import { homeKeys } from './home-keys.ts';
import {
  ensureServerPasswords,
  MIGRATIONS_USER,
  REPORTS_USER,
  SERVICES_USER,
  urlOfUser,
} from './server-passwords.ts';
import { ownBrokerEnv, shardsEnv, type StackPlan } from '../../cli/stack/stack-plan.ts';
import { PANEL_DIR } from '../../panel/folder.ts';
import { SERVICE_NAMES } from '../../schemas/topology.ts';

interface StackContext {
  plan: StackPlan;
  home: Home;
  checkout: string;
  env: NodeJS.ProcessEnv;
}

const OWN = { startMs: 300_000, stopMs: 15_000, needs: [], adminUrl: undefined, lag: undefined };
/** Of read-only rows. */
const NO_LAUNCH = { command: '', args: [], env: {} };
/** An external server is expected to be running. */
const EXTERNAL_MS = 15_000;

/** Every service, servers first. Without `launches` the rows are read-only (status, stop). */
export function stackServices(
  { plan, home, checkout }: Omit<StackContext, 'env'>,
  launches?: ServerLaunches,
): Service[] {
  const redis = firstServer(plan.redis_url);
  const server = (
    name: keyof typeof serverSettings,
    address: Address,
    readiness: Service['readiness'],
  ): Service => {
    const own = plan.own[name] !== undefined;
    return {
      ...OWN,
      name,
      setting: serverSettings[name],
      address: formatAddress(address),
      readiness,
      launch: own ? (launches?.[name] ?? NO_LAUNCH) : undefined,
      startMs: own ? OWN.startMs : EXTERNAL_MS,
    };
  };
  const env = withValues(process.env, serviceEnv({ plan, home }));
  // Only a supervisor probes; other commands may run in another environment.
  const filesOf = (prefix: string) => (launches ? readTlsFiles(tlsPaths(process.env, prefix)) : {});
  const brokers = plan.kafka_brokers.split(',').map((one) => parseAddress(one, 9092));
  const cache = parseAddress(redis.host, 6379);
  const database = parseAddress(new URL(plan.database_url).host, 5432);
  const kafkaTls = plan.own.kafka ? ownTls(plan) : plan.kafka_tls ? filesOf('KAFKA') : undefined;
  // Of an external cluster one broker is probed, of the stack's own each is a service.
  const kafka = brokers
    .slice(0, Math.max(1, ownBrokers(plan.own).length))
    .map((address, index): Service => {
      const name = brokerName(index);
      const of = server('kafka', address, { kind: 'kafka', address, tls: kafkaTls });
      const launch = index === 0 ? of.launch : launches?.peers?.[index - 1];
      return { ...of, name, launch: of.launch && (launch ?? NO_LAUNCH) };
    });
  const clickhouse = splitHosts(plan.clickhouse_url)
    .slice(0, Math.max(1, ownShards(plan.own).length))
    .map((one, index): Service => {
      const { host, protocol, origin } = new URL(one);
      const isSecure = protocol === 'https:';
      const of = server('clickhouse', parseAddress(host, isSecure ? 443 : 80), {
        ...{ kind: 'http', url: new URL('/ping', origin).href },
        ...(isSecure ? { tls: filesOf('CLICKHOUSE') } : {}),
      });
      const launch = index === 0 ? of.launch : launches?.shards?.[index - 1];
      return { ...of, name: shardName(index), launch: of.launch && (launch ?? NO_LAUNCH) };
    });
  return [
    ...kafka,
    ...clickhouse,
    server('postgres', database, { kind: 'postgres', address: database }),
    server('redis', cache, {
      kind: 'redis',
      address: cache,
      tls: redis.protocol === 'rediss:' ? filesOf('REDIS') : undefined,
    }),
    ...SERVICE_NAMES.map((name) => nodeService(name, { plan, checkout, env })),
  ];
}

export function stepsOf({ plan, home, checkout }: Omit<StackContext, 'env'>): Step[] {
  const shards = ownShards(plan.own);
  return setupSteps({
    checkout,
    env: withValues(process.env, serviceEnv({ plan, home })),
    servers: {
      kafka: BROKER_NAMES.slice(0, Math.max(1, ownBrokers(plan.own).length)),
      ...(shards.length > 0 ? { clickhouse: shards.map((_, index) => shardName(index)) } : {}),
    },
  });
}

/** Writes the files of the servers that this stack runs, and returns how each is started. */
export function prepareServers({ plan, home, checkout, env }: StackContext): ServerLaunches {
  const config = loadConfig(env);
  const { postgres, redis } = plan.own;
  const passwords = ensureServerPasswords(home);
  if (config.TEST_SERVICES === 'containers')
    return containerLaunches({ plan, home, checkout, passwords });
  const libs = env['RAVAND_KAFKA_LIBS'] ?? '';
  const [clickhouse, ...shards] = prepareShards({
    ...{ plan, home, checkout, password: passwords.clickhouse },
    memory: clickhouseMemory(config.CLICKHOUSE_MEMORY_LIMIT),
  });
  const [first, ...peers] = prepareKafka({
    home,
    brokers: ownBrokers(plan.own),
    login: plan.kafka_login,
    hasTls: plan.kafka_ca_file !== undefined,
    heap: config.KAFKA_HEAP,
    libs,
  });
  return {
    kafka: first,
    peers,
    ...{ clickhouse, shards },
    postgres: postgres && preparePostgres({ home, checkout, ...postgres }),
    redis: redis && prepareRedis({ home, ...redis, password: passwords.redis }),
  };
}

/** Each server of ClickHouse; of several, each has its part of the memory. */
function prepareShards({
  plan,
  memory,
  ...of
}: Omit<StackContext, 'env'> & { memory: number; password: string }): Launch[] {
  const { clickhouse } = plan.own;
  const common = { ...of, database: plan.clickhouse_database };
  const shards = ownShards(plan.own);
  if (shards.length === 0)
    return clickhouse ? [prepareClickhouse({ ...common, ...clickhouse, memory })] : [];
  const clusters = { [LOCAL_SHARDS]: shards.map(({ tcpPort }) => [tcpPort]) };
  return shards.map(({ port, tcpPort }, index) =>
    prepareClickhouse({
      ...{ ...common, port, memory: Math.floor(memory / shards.length) },
      ...{ name: shardName(index), shard: { tcpPort, clusters, user: SERVICES_USER } },
    }),
  );
}

/** The settings of the stack besides what the user set; each service gets those that it reads. */
export function serviceEnv({
  plan,
  home,
}: Pick<StackContext, 'plan' | 'home'>): Record<string, string> {
  const brokers = ownBrokers(plan.own).length;
  const replication = {
    KAFKA_REPLICATION: String(brokers),
    KAFKA_MIN_ISR: String(minInsyncReplicas(brokers)),
  };
  return {
    RAVAND_HOME: home.dir,
    KAFKA_BROKERS: plan.kafka_brokers,
    ...clickhouseUrls(plan),
    CLICKHOUSE_DATABASE: plan.clickhouse_database,
    ...shardsEnv(plan),
    DATABASE_URL: plan.database_url,
    REDIS_URL: plan.redis_url,
    HTTP_ADDR: plan.http_addr,
    PUBLIC_API_ADDR: plan.public_api_addr,
    PANEL_ADDR: plan.panel_addr,
    SANDBOX_ADDR: plan.sandbox_addr,
    SANDBOX_SMTP_ADDR: plan.sandbox_smtp_addr,
    OUTBOUND_ALLOW_HOSTS: [
      ...splitList(process.env['OUTBOUND_ALLOW_HOSTS'] ?? ''),
      ...[plan.sandbox_addr, plan.sandbox_smtp_addr],
    ].join(','),
    SPOOL_DIR: plan.spool_dir,
    EXPORT_DIR: process.env['EXPORT_DIR'] ?? home.exports,
    PANEL_DIR: process.env['PANEL_DIR'] ?? PANEL_DIR,
    SDK_DIR: process.env['SDK_DIR'] ?? join(home.dir, 'sdk'),
    PUSH_ENABLED: process.env['PUSH_ENABLED'] ?? 'true',
    ...homeKeys(home, process.env),
    ...(brokers > 0 ? { ...replication, ...ownBrokerEnv(plan) } : {}),
  };
}

/** The stack's own ClickHouse has the users that docs/operations/connections.md recommends. */
function clickhouseUrls({
  clickhouse_url: url,
  own,
}: Pick<StackPlan, 'clickhouse_url' | 'own'>): Record<string, string> {
  if (!own.clickhouse) return { CLICKHOUSE_URL: url };
  return {
    CLICKHOUSE_URL: urlOfUser(url, SERVICES_USER),
    CLICKHOUSE_REPORTS_URL: urlOfUser(url, REPORTS_USER),
    CLICKHOUSE_MIGRATION_URL: urlOfUser(url, MIGRATIONS_USER),
  };
}

/** Undefined: the stack's own brokers have no TLS. */
function ownTls({ kafka_ca_file: ca }: Pick<StackPlan, 'kafka_ca_file'>): TlsFiles | undefined {
  if (ca === undefined) return undefined;
  return existsSync(ca) ? { ca: readFileSync(ca, 'utf8') } : {};
}

/** Reads host:port, host or [v6]:port as in a URL or a list of brokers. */
function parseAddress(text: string, defaultPort: number): Address {
  const parts = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text.trim());
  const host = parts?.[1] ?? parts?.[2] ?? '';
  return {
    host: host === '' ? 'localhost' : host,
    port: parts?.[3] === undefined ? defaultPort : Number(parts[3]),
  };
}
