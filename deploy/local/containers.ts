import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hash, randomBytes } from 'node:crypto';
import { limitedUsers } from './services/clickhouse.ts';
import { writeJsonFile } from '../../cli/json-file.ts';
import type { Home } from '../../cli/stack/home.ts';
import type { Launch, ServerLaunches } from './services/service.ts';
import { redisConfiguration } from './services/redis.ts';
import { SERVER_USER, type ServerPasswords } from './server-passwords.ts';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';

/** One server as a container, on the machine's network, listening on loopback only. */
export interface ContainerSpec {
  image: string;
  command?: string[];
  env?: Record<string, string>;
  /** Folder on this machine and where the server finds it: data outlives the container. */
  mounts?: { source: string; target: string }[];
  files?: { content: string; target: string }[];
}

/**
 * With TEST_SERVICES=containers the four servers are containers of testcontainers, each held by a
 * process that the supervisor runs like any other service: same addresses, same stop and start.
 * Needs a Docker engine on Linux (host networking).
 */
export function containerLaunches({
  plan,
  home,
  checkout,
  passwords,
}: {
  plan: StackPlan;
  home: Home;
  checkout: string;
  passwords: ServerPasswords;
}): ServerLaunches {
  const { kafka, clickhouse, postgres, redis } = plan.own;
  const data = (name: string) => {
    const folder = join(home.data, `container-${name}`);
    // Each image runs as a user of its own.
    mkdirSync(folder, { recursive: true, mode: 0o777 });
    return folder;
  };
  const launch = (name: string, spec: ContainerSpec): Launch => {
    // A file: other users of the machine can read the arguments of a process.
    const file = join(home.run, `container-${name}.json`);
    writeJsonFile(file, spec);
    return {
      command: process.execPath,
      args: [join(checkout, 'deploy/local/container-service.ts'), file],
      env: {},
    };
  };
  return {
    kafka: kafka && launch('kafka', kafkaSpec({ ...kafka, data: data('kafka') })),
    clickhouse:
      clickhouse &&
      launch('clickhouse', {
        image: 'clickhouse/clickhouse-server:26.7',
        env: { CLICKHOUSE_USER: SERVER_USER, CLICKHOUSE_PASSWORD: passwords.clickhouse },
        mounts: [{ source: data('clickhouse'), target: '/var/lib/clickhouse' }],
        files: [
          {
            content: clickhouseFile(clickhouse.port),
            target: '/etc/clickhouse-server/config.d/ravand.xml',
          },
          {
            content: `<clickhouse><users>${limitedUsers({ passwordHash: hash('sha256', passwords.clickhouse), database: plan.clickhouse_database })}</users></clickhouse>\n`,
            target: '/etc/clickhouse-server/users.d/ravand-reports.xml',
          },
        ],
      }),
    postgres:
      postgres &&
      launch('postgres', {
        image: 'postgres:18',
        command: ['postgres', '-c', 'listen_addresses=127.0.0.1', '-c', `port=${postgres.port}`],
        env: { POSTGRES_PASSWORD: passwords.postgres, PGDATA: '/data/pg' },
        mounts: [{ source: data('postgres'), target: '/data' }],
      }),
    redis:
      redis &&
      launch('redis', {
        image: 'redis:7.0',
        command: ['redis-server', '/usr/local/etc/ravand.conf'],
        mounts: [{ source: data('redis'), target: '/data' }],
        files: [
          {
            content: redisConfiguration({
              folder: '/data',
              port: redis.port,
              password: passwords.redis,
            }),
            target: '/usr/local/etc/ravand.conf',
          },
        ],
      }),
  };
}

function kafkaSpec({
  port,
  controllerPort,
  data,
}: {
  port: number;
  controllerPort: number;
  data: string;
}): ContainerSpec {
  return {
    image: 'apache/kafka:4.1.0',
    mounts: [{ source: data, target: '/data' }],
    env: {
      CLUSTER_ID: randomBytes(16).toString('base64url').replace(/^-/, 'A'),
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_NODE_ID: '1',
      KAFKA_CONTROLLER_QUORUM_VOTERS: `1@127.0.0.1:${controllerPort}`,
      KAFKA_LISTENERS: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
      KAFKA_LOG_DIRS: '/data/logs',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS: '4000',
      KAFKA_GROUP_CONSUMER_SESSION_TIMEOUT_MS: '4000',
      KAFKA_GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS: '1000',
      KAFKA_GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS: '1000',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_MESSAGE_MAX_BYTES: String(16 * 1024 * 1024),
    },
  };
}

function clickhouseFile(port: number): string {
  // Only HTTP is used; the other listeners could collide with another stack's.
  const closed = ['tcp_port', 'mysql_port', 'postgresql_port', 'interserver_http_port']
    .map((name) => `  <${name} remove="1"/>\n`)
    .join('');
  return `<clickhouse>\n  <listen_host>127.0.0.1</listen_host>\n  <http_port>${port}</http_port>\n${closed}</clickhouse>\n`;
}
