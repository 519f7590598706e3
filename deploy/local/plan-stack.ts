import { formatAddress, splitList, type Address } from '../../platform/setting-kinds.ts';
import type { OwnBroker, OwnShard, StackPlan } from '../../cli/stack/stack-plan.ts';
import type { ExternalSettings } from './config.ts';
import { CommandError } from '../../cli/command.ts';
import { choosePort, isPortFree } from './ports.ts';
import { brokerName, ownBrokers } from './services/brokers.ts';
import { LOCAL_SHARDS, shardName } from './services/shards.ts';
import {
  MIGRATIONS_USER,
  SERVER_USER,
  urlOfUser,
  type ServerPasswords,
} from './server-passwords.ts';
import { SERVICE_NAMES } from '../../schemas/topology.ts';

/**
 * run/ports.json: the ports of earlier starts by name; they are used again while they are free.
 */
export type KeptPorts = Record<string, number>;

interface Planning {
  env: NodeJS.ProcessEnv;
  kept: KeptPorts;
  /** Listeners as the environment gives them; undefined when unset. */
  listeners: Record<'HTTP_ADDR' | 'PUBLIC_API_ADDR' | 'PANEL_ADDR', Address | undefined>;
  external: ExternalSettings;
  spoolDir: string;
  /** Of the servers that the stack runs. */
  passwords: ServerPasswords;
  /** Of the stack's brokers; `ca`: what they are verified with, undefined without TLS. */
  kafka: { brokers: number; hasPassword: boolean; ca: string | undefined };
  /** How many servers the stack's ClickHouse is. */
  shards: number;
  settings: StackPlan['settings'];
}

const LOOPBACK = '127.0.0.1';

export async function planStack(
  planning: Planning,
): Promise<{ plan: StackPlan; ports: KeptPorts }> {
  const { passwords } = planning;
  const ports: KeptPorts = {};
  const reserved = new Set<number>();
  const free = async (host: string, port: number) =>
    !reserved.has(port) && (await isPortFree(host, port));
  const reserve = async (
    name: string,
    { host = LOOPBACK, fallback }: { host?: string; fallback?: number } = {},
  ) => {
    const preferred = [fallback, planning.kept[name]].filter((port) => port !== undefined);
    const isFree = (one: number) => free(host, one);
    const port = await choosePort({ preferred, isFree, random: Math.random });
    reserved.add(port);
    ports[name] = port;
    return port;
  };
  const listener = async (name: keyof Planning['listeners'], fallback: number) => {
    const given = planning.listeners[name];
    if (given === undefined)
      return `localhost:${await reserve(name, { host: 'localhost', fallback })}`;
    if (given.port !== 0 && !(await free(given.host, given.port))) {
      throw new CommandError(
        `${name}=${formatAddress(given)} is in use: stop what listens there, give another address, or leave ${name} unset for a free one`,
      );
    }
    reserved.add(given.port);
    return given.port === 0
      ? formatAddress({ host: given.host, port: await reserve(name, { host: given.host }) })
      : formatAddress(given);
  };
  const given = (name: string) => planning.env[name]?.trim() ?? '';
  const own = async (name: string, setting: string) =>
    given(setting) === '' ? { port: await reserve(name) } : undefined;

  const http_addr = await listener('HTTP_ADDR', 8080);
  const public_api_addr = await listener('PUBLIC_API_ADDR', 8081);
  const panel_addr = await listener('PANEL_ADDR', 8082);
  const sandbox_addr = `${LOOPBACK}:${await reserve('sandbox')}`;
  const sandbox_smtp_addr = `${LOOPBACK}:${await reserve('sandbox-smtp')}`;
  const broker = await own('kafka', 'KAFKA_BROKERS');
  const kafka = broker && { ...broker, controllerPort: await reserve('kafka-controller') };
  const peers: OwnBroker[] = [];
  for (let index = 1; kafka && index < planning.kafka.brokers; index++) {
    const name = brokerName(index);
    peers.push({ port: await reserve(name), controllerPort: await reserve(`${name}-controller`) });
  }
  const kafkaCluster = kafka && (peers.length > 0 ? { ...kafka, peers } : kafka);
  const server = await own('clickhouse', 'CLICKHOUSE_URL');
  const shards: OwnShard[] = [];
  for (let index = 0; server && planning.shards > 1 && index < planning.shards; index++) {
    const port = index === 0 ? server.port : await reserve(shardName(index));
    shards.push({ port, tcpPort: await reserve(`${shardName(index)}-tcp`) });
  }
  const clickhouse = server && (shards.length > 0 ? { ...server, shards } : server);
  const postgres = await own('postgres', 'DATABASE_URL');
  const redis = await own('redis', 'REDIS_URL');
  const clickhouse_url = clickhouse
    ? `http://${SERVER_USER}:${passwords.clickhouse}@${hostsOf(shards.length > 0 ? shards : [clickhouse])}`
    : given('CLICKHOUSE_URL');
  const admin_ports: Record<string, number> = {};
  for (const name of SERVICE_NAMES) admin_ports[name] = await reserve(`${name}-admin`);
  return {
    ports,
    plan: {
      kafka_brokers: kafkaCluster
        ? hostsOf(ownBrokers({ kafka: kafkaCluster }))
        : splitList(given('KAFKA_BROKERS')).join(','),
      clickhouse_url,
      clickhouse_migration_url: clickhouse && urlOfUser(clickhouse_url, MIGRATIONS_USER),
      clickhouse_database: planning.external.CLICKHOUSE_DATABASE,
      clickhouse_shards: clickhouse
        ? shards.length > 0
          ? LOCAL_SHARDS
          : ''
        : planning.external.CLICKHOUSE_SHARDS,
      database_url: postgres
        ? `postgres://postgres:${passwords.postgres}@${LOOPBACK}:${postgres.port}/postgres`
        : given('DATABASE_URL'),
      redis_url: redis
        ? `redis://:${passwords.redis}@${LOOPBACK}:${redis.port}`
        : given('REDIS_URL'),
      kafka_login:
        kafka && planning.kafka.hasPassword
          ? { username: SERVER_USER, password: passwords.kafka }
          : undefined,
      kafka_ca_file: kafka && planning.kafka.ca,
      kafka_tls: planning.external.KAFKA_TLS,
      spool_dir: planning.spoolDir,
      http_addr,
      public_api_addr,
      panel_addr,
      sandbox_addr,
      sandbox_smtp_addr,
      admin_ports,
      settings: planning.settings,
      own: { kafka: kafkaCluster, clickhouse, postgres, redis },
    },
  };
}

const hostsOf = (servers: readonly { port: number }[]) =>
  servers.map(({ port }) => `${LOOPBACK}:${port}`).join(',');

/**
 * The URL of a listener for clients: one that listens on all interfaces is reached at localhost.
 */
export function urlOfListener(address: string): string {
  return `http://${address.replace(/^(0\.0\.0\.0|\[::\]):/, 'localhost:')}`;
}
