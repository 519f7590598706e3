import { formatAddress, splitList, type Address } from '../../platform/setting-kinds.ts';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';
import { CommandError } from '../../cli/command.ts';
import { choosePort, isPortFree } from './ports.ts';
import { SERVICE_NAMES } from '../../schemas/topology.ts';

/**
 * run/ports.json: ports that were taken before, by name; they are taken again while they are free.
 */
export type KeptPorts = Record<string, number>;

interface Planning {
  env: NodeJS.ProcessEnv;
  kept: KeptPorts;
  /** Listeners as the environment gives them; undefined when unset. */
  httpAddr: Address | undefined;
  publicApiAddr: Address | undefined;
  panelAddr: Address | undefined;
  clickhouseDatabase: string;
  kafkaTls: boolean;
  spoolDir: string;
}

const LOOPBACK = '127.0.0.1';

export async function planStack(
  planning: Planning,
): Promise<{ plan: StackPlan; ports: KeptPorts }> {
  const ports: KeptPorts = {};
  const taken = new Set<number>();
  const free = async (host: string, port: number) =>
    !taken.has(port) && (await isPortFree(host, port));
  const take = async (
    name: string,
    { host = LOOPBACK, usual }: { host?: string; usual?: number } = {},
  ) => {
    const kept = planning.kept[name];
    const preferred = [usual, kept].filter((port) => port !== undefined);
    const port = await choosePort({
      preferred,
      isFree: (one) => free(host, one),
      random: Math.random,
    });
    taken.add(port);
    ports[name] = port;
    return port;
  };
  const listener = async (name: string, given: Address | undefined, usual: number) => {
    if (given === undefined) return `localhost:${await take(name, { host: 'localhost', usual })}`;
    if (given.port !== 0 && !(await free(given.host, given.port))) {
      throw new CommandError(
        `${name}=${formatAddress(given)} is taken: end what listens there, give another address, or leave ${name} unset for a free one`,
      );
    }
    taken.add(given.port);
    return given.port === 0
      ? formatAddress({ host: given.host, port: await take(name, { host: given.host }) })
      : formatAddress(given);
  };
  const given = (name: string) => planning.env[name]?.trim() ?? '';
  const own = async (name: string, setting: string) =>
    given(setting) === '' ? { port: await take(name) } : undefined;

  const http_addr = await listener('HTTP_ADDR', planning.httpAddr, 8080);
  const public_api_addr = await listener('PUBLIC_API_ADDR', planning.publicApiAddr, 8081);
  const panel_addr = await listener('PANEL_ADDR', planning.panelAddr, 8082);
  const broker = await own('kafka', 'KAFKA_BROKERS');
  const kafka = broker && { ...broker, controllerPort: await take('kafka-controller') };
  const clickhouse = await own('clickhouse', 'CLICKHOUSE_URL');
  const postgres = await own('postgres', 'DATABASE_URL');
  const redis = await own('redis', 'REDIS_URL');
  const admin_ports: Record<string, number> = {};
  for (const name of SERVICE_NAMES) admin_ports[name] = await take(`${name}-admin`);
  return {
    ports,
    plan: {
      kafka_brokers: kafka
        ? `${LOOPBACK}:${kafka.port}`
        : splitList(given('KAFKA_BROKERS')).join(','),
      clickhouse_url: clickhouse
        ? `http://${LOOPBACK}:${clickhouse.port}`
        : given('CLICKHOUSE_URL'),
      clickhouse_database: planning.clickhouseDatabase,
      database_url: postgres
        ? `postgres://postgres@${LOOPBACK}:${postgres.port}/postgres`
        : given('DATABASE_URL'),
      redis_url: redis ? `redis://${LOOPBACK}:${redis.port}` : given('REDIS_URL'),
      kafka_tls: planning.kafkaTls,
      spool_dir: planning.spoolDir,
      http_addr,
      public_api_addr,
      panel_addr,
      admin_ports,
      own: { kafka, clickhouse, postgres, redis },
    },
  };
}

/**
 * The address to type into a client for a listener: one that listens everywhere is reached at
 * localhost.
 */
export function urlOfListener(address: string): string {
  return `http://${address.replace(/^(0\.0\.0\.0|\[::\]):/, 'localhost:')}`;
}
