import { afterEach, describe, expect, it, vi } from 'vitest';
import { clickhouseMemory } from './config.ts';
import { homeOf } from '../../cli/stack/home.ts';
import { setupSteps } from './services/setup-steps.ts';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';
import { urlOfListener } from './plan-stack.ts';
import { stackServices, serviceEnv, stepsOf } from './stack.ts';
import { inheritedEnvironment } from './process-environment.ts';
import { serviceSettings } from '../service-settings.ts';
import { stopLevels } from './supervisor/order.ts';
import { SERVICE_NAMES } from '../../schemas/topology.ts';

const home = homeOf({ checkout: '/checkout', env: {} });
const plan: StackPlan = {
  kafka_brokers: '127.0.0.1:20001',
  clickhouse_url: 'http://127.0.0.1:20002',
  clickhouse_database: 'ravand',
  database_url: 'postgres://postgres@127.0.0.1:20003/postgres',
  redis_url: 'redis://127.0.0.1:20004',
  http_addr: 'localhost:8080',
  public_api_addr: 'localhost:8081',
  panel_addr: 'localhost:8082',
  sandbox_addr: '127.0.0.1:8083',
  sandbox_smtp_addr: '127.0.0.1:2525',
  kafka_tls: false,
  spool_dir: '/spool',
  admin_ports: Object.fromEntries(SERVICE_NAMES.map((name, index) => [name, 21_000 + index])),
  settings: Object.fromEntries(
    (await serviceSettings()).map(({ reader, table }) => [reader, Object.keys(table)]),
  ),
  own: {
    kafka: { port: 20_001, controllerPort: 20_005 },
    clickhouse: { port: 20_002 },
    postgres: { port: 20_003 },
    redis: { port: 20_004 },
  },
};
const elsewhere: StackPlan = {
  ...plan,
  kafka_brokers: 'b1.example:9093,b2.example:9093',
  kafka_tls: true,
  clickhouse_url: 'https://user:secret@ch.example',
  database_url: 'postgres://user:secret@[2001:db8::5]/ravand',
  redis_url: 'rediss://:secret@cache.example:6380/2',
  own: { kafka: undefined, clickhouse: undefined, postgres: undefined, redis: undefined },
};

describe('the services of a stack', () => {
  it('are those of the plan, and the servers stop last', () => {
    const services = stackServices({ plan, home, checkout: '/checkout' });
    expect(services.map(({ name }) => name)).toEqual([
      'kafka',
      'clickhouse',
      'postgres',
      'redis',
      ...SERVICE_NAMES,
    ]);
    const levels = stopLevels([...services, ...setupSteps({ checkout: '/checkout', env: {} })]);
    expect(levels[0]).toEqual(expect.arrayContaining([...SERVICE_NAMES]));
    expect(levels.slice(1).flat()).toEqual(
      expect.arrayContaining(['kafka', 'clickhouse', 'postgres']),
    );
  });

  it('show the address of an external server without its password, and never start it', () => {
    const servers = stackServices({ plan: elsewhere, home, checkout: '/checkout' }).slice(0, 4);
    expect(servers.map(({ name, address, launch }) => ({ name, address, launch }))).toEqual([
      { name: 'kafka', address: 'b1.example:9093', launch: undefined },
      { name: 'clickhouse', address: 'ch.example:443', launch: undefined },
      { name: 'postgres', address: '[2001:db8::5]:5432', launch: undefined },
      { name: 'redis', address: 'cache.example:6380', launch: undefined },
    ]);
    expect(servers.map(({ readiness }) => readiness)).toEqual([
      { kind: 'kafka', address: { host: 'b1.example', port: 9093 }, tls: {} },
      { kind: 'http', url: 'https://ch.example/ping', tls: {} },
      { kind: 'postgres', address: { host: '2001:db8::5', port: 5432 } },
      { kind: 'redis', address: { host: 'cache.example', port: 6380 }, tls: {} },
    ]);
  });

  it('are each broker of a cluster, all of which the topics need', () => {
    const peers = [20_006, 20_008].map((port) => ({ port, controllerPort: port + 1 }));
    const cluster: StackPlan = {
      ...plan,
      kafka_brokers: '127.0.0.1:20001,127.0.0.1:20006,127.0.0.1:20008',
      kafka_login: { username: 'ravand', password: 'p4ss' },
      kafka_ca_file: '/missing/ca.pem',
      own: { ...plan.own, kafka: { port: 20_001, controllerPort: 20_005, peers } },
    };
    const services = stackServices({ plan: cluster, home, checkout: '/checkout' });
    expect(services.slice(0, 4).map(({ name, address }) => [name, address])).toEqual([
      ['kafka', '127.0.0.1:20001'],
      ['kafka-2', '127.0.0.1:20006'],
      ['kafka-3', '127.0.0.1:20008'],
      ['clickhouse', '127.0.0.1:20002'],
    ]);
    const topics = stepsOf({ plan: cluster, home, checkout: '/checkout' }).find(
      ({ name }) => name === 'topics',
    );
    expect(topics?.needs).toEqual(['kafka', 'kafka-2', 'kafka-3', 'migrate-postgres']);
    expect(serviceEnv({ plan: cluster, home })).toMatchObject({
      ...{ KAFKA_REPLICATION: '3', KAFKA_MIN_ISR: '2', KAFKA_TLS: 'true' },
      ...{ KAFKA_TLS_CA_FILE: '/missing/ca.pem', KAFKA_SASL_MECHANISM: 'PLAIN' },
    });
  });

  it('are each shard of ClickHouse, all of which the migrations need', () => {
    const shards = [20_002, 20_006].map((port) => ({ port, tcpPort: port + 1 }));
    const sharded: StackPlan = {
      ...plan,
      clickhouse_url: 'http://ravand:p4ss@127.0.0.1:20002,127.0.0.1:20006',
      clickhouse_shards: 'local_shards',
      own: { ...plan.own, clickhouse: { port: 20_002, shards } },
    };
    const services = stackServices({ plan: sharded, home, checkout: '/checkout' });
    expect(services.slice(1, 4).map(({ name, address }) => [name, address])).toEqual([
      ['clickhouse', '127.0.0.1:20002'],
      ['clickhouse-2', '127.0.0.1:20006'],
      ['postgres', '127.0.0.1:20003'],
    ]);
    const migrations = stepsOf({ plan: sharded, home, checkout: '/checkout' }).find(
      ({ name }) => name === 'migrate-clickhouse',
    );
    expect(migrations?.needs).toEqual(['clickhouse', 'clickhouse-2']);
    expect(serviceEnv({ plan: sharded, home })).toMatchObject({
      CLICKHOUSE_SHARDS: 'local_shards',
      CLICKHOUSE_URL: 'http://ravand_services:p4ss@127.0.0.1:20002,127.0.0.1:20006',
      CLICKHOUSE_REPORTS_URL: 'http://ravand_reports:p4ss@127.0.0.1:20002,127.0.0.1:20006',
    });
    expect(serviceEnv({ plan, home })).not.toHaveProperty('CLICKHOUSE_SHARDS');
  });

  it('register devices for push unless the environment says otherwise', () => {
    expect(serviceEnv({ plan, home })).toMatchObject({ PUSH_ENABLED: 'true' });
    vi.stubEnv('PUSH_ENABLED', 'false');
    expect(serviceEnv({ plan, home })).toMatchObject({ PUSH_ENABLED: 'false' });
    vi.unstubAllEnvs();
  });

  it('have one replica per partition on the local broker only', () => {
    expect(serviceEnv({ plan, home })).toMatchObject({
      KAFKA_REPLICATION: '1',
      KAFKA_MIN_ISR: '1',
    });
    expect(serviceEnv({ plan: elsewhere, home })).not.toHaveProperty('KAFKA_REPLICATION');
  });
});

describe('the environment of a process of a stack', () => {
  const key = `local:${Buffer.alloc(32).toString('base64')}`;
  const secrets = {
    SEALING_KEY: key,
    TRACKING_KEYS: key.replace('local', '1'),
    DATABASE_URL: 'postgres://u:secret@db/x',
    OTHER: 'kept',
  };
  const getting = (name: string): string[] => {
    for (const [variable, value] of Object.entries(secrets)) vi.stubEnv(variable, value);
    return [
      ...stackServices({ plan, home, checkout: '/checkout' }).filter(({ launch }) => launch),
      ...stepsOf({ plan, home, checkout: '/checkout' }),
    ]
      .filter(({ launch }) => launch?.env[name] !== undefined)
      .map((one) => one.name);
  };
  afterEach(() => vi.unstubAllEnvs());

  it('has a setting only where the process reads it', () => {
    expect(getting('SEALING_KEY').toSorted()).toEqual([
      'control-plane',
      'demo-account',
      'dispatcher',
      'ingest-gateway',
      'management-api',
      'relays',
    ]);
    expect(getting('TRACKING_KEYS')).toEqual([
      ...['ingest-gateway', 'dispatcher', 'management-api', 'control-plane'],
    ]);
    expect(getting('DATABASE_URL')).not.toContain('migrate-clickhouse');
    expect(getting('REDIS_URL')).not.toContain('events-sink');
  });

  it('inherits no setting of any service', () => {
    expect(inheritedEnvironment(secrets, plan)).toEqual({ OTHER: 'kept' });
  });
});

describe('the start of a stack', () => {
  it('limits ClickHouse to a third of the memory, within bounds, unless a setting says otherwise', () => {
    const gib = 2 ** 30;
    expect([1, 6, 64].map((machine) => clickhouseMemory(0, machine * gib) / gib)).toEqual([
      1, 2, 8,
    ]);
    expect(clickhouseMemory(123, 64 * gib)).toBe(123);
  });

  it('gives clients an address that they can reach', () => {
    expect(urlOfListener('0.0.0.0:8080')).toBe('http://localhost:8080');
    expect(urlOfListener('127.0.0.1:8080')).toBe('http://127.0.0.1:8080');
  });

  it('keeps the path of the control socket within the limit of the system', () => {
    const deep = homeOf({
      checkout: '/checkout',
      env: { RAVAND_HOME: `/${'very-'.repeat(40)}deep` },
    });
    expect(Buffer.byteLength(deep.socket)).toBeLessThan(104);
    expect(home.socket).toBe('/checkout/.ravand/run/control.sock');
  });
});
